"""Ruby: modules that are opened again, mixins, what is required."""

import pytest
from code_projects import CodeProject

FILES = {
    "lib/acme.rb": """
        # frozen_string_literal: true

        # Everything of acme.
        require "acme/store/repo"
        require "acme/login"
        """,
    "lib/acme/store/repo.rb": """
        require "json"
        require_relative "findable"

        module Acme
          module Store
            # Keeps users.
            class Repo < Base
              include Findable

              LIMIT = 3

              def self.open(limit) = new(limit)

              def find(id)
                check(id)
                finish
                JSON.parse(id)
              end

              private

              def check(id); end
            end

            class Base
              def finish; end
            end
          end
        end
        """,
    "lib/acme/store/findable.rb": """
        module Acme::Store
          module Findable
            def find_all
              find("*")
            end

            def find(id)
            end
          end
        end
        """,
    "lib/acme/login.rb": """
        module Acme
          class Login
            attr_reader :repo

            def initialize(limit)
              @repo = Store::Repo.open(limit)
              @other = Store::Repo.new(limit)
            end

            # Is it a user?
            def check(id)
              other = Acme::Store::Repo.new(3)
              other.find(id)
              other.find_all
              @other.find(id)
              helper { |check| check.call }
            end

            def helper
              yield
            end
          end
        end
        """,
    "spec/login_spec.rb": """
        require "acme"

        RSpec.describe Acme::Login do
          it "lets users in" do
            login = Acme::Login.new(3)
            expect(login.check("ada")).to be true
          end
        end
        """,
    "test/test_repo.rb": """
        class RepoTest < Minitest::Test
          def test_find
            Acme::Store::Repo.open(3)
          end
        end
        """,
}


@pytest.fixture(scope="module")
def project():
    return CodeProject(FILES)


def test_symbols_are_named_as_ruby_names_them(project):
    assert project.symbols("lib/acme/store/repo.rb") == [
        ("class", "Acme::Store::Repo"),
        ("constant", "Acme::Store::Repo::LIMIT"),
        ("method", "Acme::Store::Repo.open"),
        ("method", "Acme::Store::Repo#find"),
        ("method", "Acme::Store::Repo#check"),
        ("class", "Acme::Store::Base"),
        ("method", "Acme::Store::Base#finish"),
    ]
    assert project.symbols("lib/acme/store/findable.rb") == [
        ("interface", "Acme::Store::Findable"),
        ("method", "Acme::Store::Findable#find_all"),
        ("method", "Acme::Store::Findable#find"),
    ]
    assert project.files["lib/acme.rb"].purpose == "Everything of acme."
    assert project.symbol("Acme::Login#check").doc == "Is it a user?"


def test_calls_lead_to_methods_of_the_object_of_its_class_and_of_what_it_includes(project):
    assert project.references("calls") == {
        ("Acme::Store::Repo.open", "Acme::Store::Repo"),
        ("Acme::Store::Repo#find", "Acme::Store::Repo#check"),
        ("Acme::Store::Repo#find", "Acme::Store::Base#finish"),
        ("Acme::Store::Findable#find_all", "Acme::Store::Findable#find"),
        ("Acme::Login#initialize", "Acme::Store::Repo.open"),
        ("Acme::Login#initialize", "Acme::Store::Repo"),
        ("Acme::Login#check", "Acme::Store::Repo"),
        ("Acme::Login#check", "Acme::Store::Repo#find"),
        ("Acme::Login#check", "Acme::Store::Findable#find_all"),
        ("Acme::Login#check", "Acme::Login#helper"),
        ("spec/login_spec.rb::Acme::Login::lets users in", "Acme::Login"),
        ("spec/login_spec.rb::Acme::Login::lets users in", "Acme::Login#check"),
        ("RepoTest#test_find", "Acme::Store::Repo.open"),
    }


def test_what_is_required_is_found_below_the_load_path_or_beside_the_file(project):
    assert project.references("imports") == {
        ("lib/acme.rb", "lib/acme/store/repo.rb"),
        ("lib/acme.rb", "lib/acme/login.rb"),
        ("lib/acme/store/repo.rb", "lib/acme/store/findable.rb"),
        ("spec/login_spec.rb", "lib/acme.rb"),
    }
    assert project.references("imports", internal=False) == {("lib/acme/store/repo.rb", "json")}


def test_superclasses_and_mixins_are_inherited(project):
    assert project.references("inherits") == {
        ("Acme::Store::Repo", "Acme::Store::Base"),
        ("Acme::Store::Repo", "Acme::Store::Findable"),
    }


def test_tests_are_told_by_their_files(project):
    assert project.tests("spec/login_spec.rb") == [
        "spec/login_spec.rb",
        "spec/login_spec.rb::Acme::Login",
        "spec/login_spec.rb::Acme::Login::lets users in",
    ]
    assert "RepoTest#test_find" in project.tests("test/test_repo.rb")


def test_operators_keep_their_names_and_are_linked_wherever_they_are_defined():
    methods = """
    def <=>(other)
      compare(other)
    end

    def <<(item)
      compare(item)
    end
    """
    project = CodeProject(
        {
            "lib/box.rb": f"class Box\n{methods}\ndef compare(other); end\nend",
            "lib/refined.rb": f"refine(String) do\n{methods}\nend",
        }
    )
    assert project.symbols("lib/box.rb") == [
        ("class", "Box"),
        ("method", "Box#<=>"),
        ("method", "Box#<<"),
        ("method", "Box#compare"),
    ]
    assert project.symbols("lib/refined.rb") == [("method", "<=>"), ("method", "<<")]


def test_names_that_end_in_marks_and_a_bare_new_are_followed():
    project = CodeProject(
        {
            "lib/order.rb": """
            class Order
              def self.build(*args) = new(*args)

              def submit!
                check? || save!(1)
              end

              def check?
                valid?
              end

              def valid? = true
              def save!(n); end
            end

            def run
              order = Order.new
              order.submit! if order.check?
            end
            """
        }
    )
    assert project.references("calls") == {
        ("Order.build", "Order"),
        ("Order#submit!", "Order#check?"),
        ("Order#submit!", "Order#save!"),
        ("Order#check?", "Order#valid?"),
        ("run", "Order"),
        ("run", "Order#submit!"),
        ("run", "Order#check?"),
    }


def test_a_field_that_is_made_of_itself_ends():
    project = CodeProject(
        {
            "lib/report.rb": """
                class Report
                  def read(line)
                    @suite = @suite.sub(",", "")
                    @suite.strip
                    finish
                  end

                  def finish; end
                end
                """
        }
    )
    assert project.references("calls") == {("Report#read", "Report#finish")}

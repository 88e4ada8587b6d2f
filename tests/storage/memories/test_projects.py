"""Projects: known by every path under which they were seen, and by their names."""

from ragmem.storage.sql.sqlite import SQLiteDatabase


def test_a_project_is_found_by_id_name_and_path(catalog):
    catalog.projects.remember("kiln-1", name="Kiln", root="/r/kiln")
    assert [catalog.projects.find(name) for name in ("kiln-1", "kiln", "KILN", "/r/kiln")] == [["kiln-1"]] * 4
    assert catalog.projects.find("oven") == []


def test_a_moved_project_is_known_at_both_places(catalog):
    catalog.projects.remember("kiln-1", name="Kiln", root="/r/kiln")
    catalog.projects.remember("kiln-1", name="Kiln", root="/s/kiln")
    assert catalog.projects.at(["/r/kiln"]) == catalog.projects.at(["/s/kiln"]) == "kiln-1"
    assert catalog.projects.find("kiln") == ["kiln-1"]


def test_a_path_belongs_to_the_project_that_was_seen_there_last(catalog):
    catalog.projects.remember("kiln-1", name="Kiln", root="/r/kiln")
    catalog.projects.remember("oven-2", name="Oven", root="/r/kiln")
    assert catalog.projects.at(["/r/kiln"]) == "oven-2"


def test_the_nearest_of_several_paths_decides(catalog):
    catalog.projects.remember("outer-1", name="outer", root="/r")
    catalog.projects.remember("inner-2", name="inner", root="/r/inner")
    assert catalog.projects.at(["/r/inner/src", "/r/inner", "/r"]) == "inner-2"
    assert catalog.projects.at(["/elsewhere", "/"]) is None


def test_projects_of_one_name_are_all_named(catalog):
    catalog.projects.remember("kiln-1", name="kiln", root="/a")
    catalog.projects.remember("kiln-2", name="kiln", root="/b")
    assert catalog.projects.find("kiln") == ["kiln-1", "kiln-2"]
    assert catalog.projects.names() == {"kiln-1": "kiln", "kiln-2": "kiln"}


def test_a_project_without_a_folder_is_found_by_its_memories(catalog, make):
    catalog.memories.accept([make("a", project="kiln-1")])
    assert catalog.projects.find("kiln-1") == ["kiln-1"]


def test_remembering_what_is_known_waits_for_no_writer(catalog):
    catalog.projects.remember("kiln-1", name="kiln", root="/a")
    writer = SQLiteDatabase(catalog.database.home)
    with writer.write():
        catalog.projects.remember("kiln-1", name="kiln", root="/a")
    writer.close()

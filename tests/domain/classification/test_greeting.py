from ragmem.domain.classification.greeting import is_greeting


def test_a_greeting_is_not_a_statement_that_begins_politely():
    assert is_greeting("Hi there! Thanks so much for all your help today, see you tomorrow.")
    assert is_greeting("ok")
    assert not is_greeting("Hi, the deploy failed because the token had expired.")
    assert not is_greeting("the work was good")
    assert not is_greeting("")
    assert not is_greeting("thanks " * 100)

"""The language of a text: told by script and function words, and not told where too little speaks for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.text.language import detect, function_words, is_foreign
from ragmem.domain.text.words import fold_words

SENTENCES = {
    "en": "The worker keeps a lock on the table while the job is running, so the second one waits.",
    "de": "Der Dienst hält eine Sperre auf der Tabelle, solange der Auftrag läuft, und der zweite wartet.",
    "fr": "Le service garde un verrou sur la table tant que la tâche est en cours, et la seconde attend.",
    "es": "El servicio mantiene un bloqueo sobre la tabla mientras la tarea está en curso, y la otra espera.",
    "pt": "O serviço mantém um bloqueio na tabela enquanto a tarefa está em andamento, e a outra espera.",
    "it": "Il servizio tiene un blocco sulla tabella mentre il lavoro è in corso, e il secondo aspetta.",
    "nl": "De dienst houdt een slot op de tabel zolang de taak nog niet klaar is, en de tweede wacht.",
    "sv": "Tjänsten håller ett lås på tabellen så länge som jobbet inte är klart, och den andra väntar.",
    "pl": "Usługa trzyma blokadę na tabeli, gdy zadanie jest w toku, i drugie czeka już na nią.",
    "cs": "Služba drží zámek na tabulce, když úloha běží, a druhá na ni už čeká.",
    "hu": "A szolgáltatás zárolja a táblát, amíg a feladat fut, és csak azután jön a második.",
    "tr": "Servis, görev bitene kadar tabloda bir kilit tutar ve ikinci görev bekler.",
    "fi": "Palvelu pitää lukkoa taulussa, kun työ on kesken, ja se toinen odottaa, että se on valmis.",
    "ru": "Служба держит блокировку таблицы, пока задача не закончится, и вторая ждёт.",
    "uk": "Служба тримає блокування таблиці, доки завдання не закінчиться, і друге чекає.",
    "el": "Η υπηρεσία κρατά κλείδωμα στον πίνακα όσο τρέχει η εργασία και η δεύτερη περιμένει.",
    "ar": "الخدمة تحتفظ بقفل على الجدول حتى تنتهي المهمة ثم تنتظر الثانية.",
    "hi": "सेवा तालिका पर ताला रखती है जब तक काम चल रहा है और दूसरा इंतज़ार करता है।",
    "zh": "任务运行时服务会锁住这张表，第二个任务只能等待。",
    "ja": "ジョブの実行中はサービスがテーブルをロックし、次のジョブは待つ。",
    "ko": "작업이 실행되는 동안 서비스가 테이블을 잠그고 다음 작업은 기다린다.",
    "th": "บริการล็อกตารางไว้ขณะที่งานกำลังทำงาน และงานที่สองต้องรอ",
}


@pytest.mark.parametrize("language", SENTENCES)
def test_a_sentence_tells_its_language(language):
    assert detect(SENTENCES[language]) == language
    assert is_foreign(SENTENCES[language]) == (language != "en")


@pytest.mark.parametrize(
    "question",
    [
        "split string ever n characters",
        "def path(self, name): return os.path.join(self.root, name)",
        "man page for die(1) on an old host",
        "can't connect: s, n, l, d, j and c are None",
        "kubectl get pods -n web",
        "ok, thanks",
        "a naïve café owner",
        "",
        "???",
        "\x00\ud800",
    ],
)
def test_english_code_and_nothing_are_not_foreign(question):
    assert not is_foreign(question)


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Wo liegt die Sicherung?", "de"),
        ("Wie begrenze ich Anfragen pro Besucher?", "de"),
        ("Comment a-t-on réussi à faire durer la batterie ?", "fr"),
        ("¿Dónde está la copia?", "es"),
        ("où est la sauvegarde", "fr"),
        ("где лежит бэкап", "ru"),
        ("El servidor usa el puerto 8080", "es"),
        ("备份在哪里", "zh"),
    ],
)
def test_a_short_question_tells_its_language(question, language):
    assert detect(question) == language


def test_an_english_text_that_quotes_another_language_is_english():
    assert (
        detect(f"{SENTENCES['en']} It printed »{SENTENCES['de'][:40]}« and went on as it did before.") == "en"
    )


def test_names_and_code_in_latin_letters_do_not_hide_another_script():
    assert detect("用 pg_advisory_xact_lock 加锁, 因为 Redis failover 时锁会丢失 (SET NX EX 30)") == "zh"


@given(st.text(max_size=300))
def test_any_text_has_a_known_language_or_none(text):
    assert detect(text) in {None, "ja", "ko", "zh", "th", "he", "ta", *function_words()}


def test_function_words_are_written_as_texts_are_read():
    for words in function_words().values():
        assert all(fold_words(word) == [word] for word in words)

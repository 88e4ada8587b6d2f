"""How dates in Spanish, Portuguese, Italian, Dutch, Russian, Chinese and Japanese are read."""

import re
import unicodedata
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragmem.domain.retrieval import date_words
from ragmem.domain.retrieval.question import parse

DATE_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789 -/.:,'"
NOW = datetime(2026, 3, 18, 15, 30, tzinfo=UTC)
"""A Wednesday."""

YESTERDAY = "2026-03-17 to 2026-03-17"
BEFORE_YESTERDAY = "2026-03-16 to 2026-03-16"
THREE_DAYS_AGO = "2026-03-15 to 2026-03-15"
FRIDAY = "2026-03-13 to 2026-03-13"
LAST_WEEK = "2026-03-09 to 2026-03-15"
LAST_MONTH = "2026-02-01 to 2026-02-28"
LAST_YEAR = "2025-01-01 to 2025-12-31"
THIS_WEEK = "2026-03-16 to 2026-03-22"
MARCH_2025 = "2025-03-01 to 2025-03-31"
MONDAY = "2026-03-16 to 2026-03-16"
LAST_WEEKEND = "2026-03-14 to 2026-03-15"
SUMMER_2025 = "2025-06-01 to 2025-08-31"
Q3_2025 = "2025-07-01 to 2025-09-30"
Q4_2025 = "2025-10-01 to 2025-12-31"
FEBRUARY = "2026-02-01 to 2026-02-28"
FIFTH_OF_MARCH = "2026-03-05 to 2026-03-05"
SINCE_MONDAY = "2026-03-16 to "
BEFORE_MAY = " to 2025-05-02"
TO_FIFTH_OF_MAY = "2025-05-03 to 2025-05-05"


def spans(text):
    return [
        " to ".join(
            "" if moment is None else f"{moment:%Y-%m-%d}" for moment in (start, end and end - timedelta(1))
        )
        for start, end in parse(text, now=NOW).times
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("¿qué decidimos ayer?", YESTERDAY),
        ("anteayer", BEFORE_YESTERDAY),
        ("hace 3 días", THREE_DAYS_AGO),
        ("tres dias atras", THREE_DAYS_AGO),
        ("el viernes pasado", FRIDAY),
        ("LA SEMANA PASADA", LAST_WEEK),
        ("el mes pasado", LAST_MONTH),
        ("el año pasado", LAST_YEAR),
        ("esta semana", THIS_WEEK),
        ("¿Qué cambió en febrero?", FEBRUARY),
        ("¿qué pasó el fin de semana pasado?", LAST_WEEKEND),
        ("el viernes de la semana pasada", FRIDAY),
        ("qué hicimos el verano pasado", SUMMER_2025),
        ("qué hicimos en el verano de 2025", SUMMER_2025),
        ("qué entregamos en el tercer trimestre de 2025", Q3_2025),
        ("qué entregamos el trimestre pasado", Q4_2025),
        ("o que fizemos no verão passado", SUMMER_2025),
        ("o que entregamos no terceiro trimestre de 2025", Q3_2025),
        ("cosa abbiamo fatto nell'estate del 2025", SUMMER_2025),
        ("cosa abbiamo fatto nel terzo trimestre del 2025", Q3_2025),
        ("wat deden we in de zomer van 2025", SUMMER_2025),
        ("wat leverden we in het derde kwartaal van 2025", Q3_2025),
        ("что мы делали летом 2025 года", SUMMER_2025),
        ("что мы выпустили в 3 квартале 2025 года", Q3_2025),
        ("en marzo de 2025", MARCH_2025),
        ("el 5 de marzo", FIFTH_OF_MARCH),
        ("desde el lunes", SINCE_MONDAY),
        ("antes del 3 de mayo", BEFORE_MAY),
        ("entre el 3 y el 5 de mayo", TO_FIFTH_OF_MAY),
        ("del 3 al 5 de mayo", TO_FIFTH_OF_MAY),
        ("de enero a febrero de 2026", "2026-01-01 to 2026-02-28"),
        ("en los últimos tres días", "2026-03-15 to 2026-03-18"),
        ("hasta 2024", " to 2024-12-31"),
        ("la última semana de mayo", "2025-05-25 to 2025-05-31"),
        ("o que decidimos ontem?", YESTERDAY),
        ("anteontem", BEFORE_YESTERDAY),
        ("há 3 dias", THREE_DAYS_AGO),
        ("três dias atrás", THREE_DAYS_AGO),
        ("sexta-feira passada", FRIDAY),
        ("o que fiz na sexta?", FRIDAY),
        ("semana passada", LAST_WEEK),
        ("no mês passado", LAST_MONTH),
        ("ano passado", LAST_YEAR),
        ("nesta semana", THIS_WEEK),
        ("o que mudou em fevereiro", FEBRUARY),
        ("em março de 2025", MARCH_2025),
        ("em 5 de março", FIFTH_OF_MARCH),
        ("desde segunda-feira", SINCE_MONDAY),
        ("antes de 3 de maio", BEFORE_MAY),
        ("entre 3 e 5 de maio", TO_FIFTH_OF_MAY),
        ("cosa abbiamo deciso ieri?", YESTERDAY),
        ("l'altro ieri", BEFORE_YESTERDAY),
        ("tre giorni fa", THREE_DAYS_AGO),
        ("cosa ho deciso venerdì?", FRIDAY),
        ("la settimana scorsa", LAST_WEEK),
        ("lo scorso mese", LAST_MONTH),
        ("l\u2019anno scorso", LAST_YEAR),
        ("questa settimana", THIS_WEEK),
        ("a febbraio", FEBRUARY),
        ("nel marzo 2025", MARCH_2025),
        ("il 5 marzo", FIFTH_OF_MARCH),
        ("da lunedì", SINCE_MONDAY),
        ("prima del 3 maggio", BEFORE_MAY),
        ("dal 3 al 5 maggio", TO_FIFTH_OF_MAY),
        ("wat besloten we gisteren?", YESTERDAY),
        ("eergisteren", BEFORE_YESTERDAY),
        ("drie dagen geleden", THREE_DAYS_AGO),
        ("afgelopen vrijdag", FRIDAY),
        ("vorige week", LAST_WEEK),
        ("vorige maand", LAST_MONTH),
        ("vorig jaar", LAST_YEAR),
        ("deze week", THIS_WEEK),
        ("in februari", FEBRUARY),
        ("in maart 2025", MARCH_2025),
        ("op 5 maart", FIFTH_OF_MARCH),
        ("sinds maandag", SINCE_MONDAY),
        ("vóór 3 mei", BEFORE_MAY),
        ("tussen 3 en 5 mei", TO_FIFTH_OF_MAY),
        ("что мы решили вчера?", YESTERDAY),
        ("позавчера", BEFORE_YESTERDAY),
        ("3 дня назад", THREE_DAYS_AGO),
        ("в прошлую пятницу", FRIDAY),
        ("на прошлой неделе", LAST_WEEK),
        ("неделю назад", "2026-03-08 to 2026-03-14"),
        ("в прошлом месяце", LAST_MONTH),
        ("в прошлом году", LAST_YEAR),
        ("на этой неделе", THIS_WEEK),
        ("что изменилось в феврале", FEBRUARY),
        ("в марте 2025 года", MARCH_2025),
        ("5 марта", FIFTH_OF_MARCH),
        ("с понедельника", SINCE_MONDAY),
        ("до 3 мая", " to 2025-05-03"),
        ("между 3 и 5 мая", TO_FIFTH_OF_MAY),
        ("в прошлую среду", "2026-03-11 to 2026-03-11"),
        ("我们昨天决定了什么", YESTERDAY),
        ("前天", BEFORE_YESTERDAY),
        ("三天前", THREE_DAYS_AGO),
        ("上周", LAST_WEEK),
        ("上周五", FRIDAY),
        ("这周一", MONDAY),
        ("这周五", THIS_WEEK),
        ("两个星期前", "2026-03-01 to 2026-03-07"),
        ("上个月", LAST_MONTH),
        ("去年", LAST_YEAR),
        ("这周", THIS_WEEK),
        ("二月改了什么", FEBRUARY),
        ("2025年3月", MARCH_2025),
        ("去年三月", MARCH_2025),
        ("2026年3月5日", FIFTH_OF_MARCH),
        ("三月五号", FIFTH_OF_MARCH),
        ("十二月三十一日", "2025-12-31 to 2025-12-31"),
        ("从周一开始", SINCE_MONDAY),
        ("5月3日之前", BEFORE_MAY),
        ("5月3日到5日", TO_FIFTH_OF_MAY),
        ("昨日決めたこと", YESTERDAY),
        ("一昨日", BEFORE_YESTERDAY),
        ("３日前", THREE_DAYS_AGO),
        ("2週間前", "2026-03-01 to 2026-03-07"),
        ("先週", LAST_WEEK),
        ("先週の金曜日", FRIDAY),
        ("去年の夏", SUMMER_2025),
        ("2025年夏天", SUMMER_2025),
        ("2025年第三季度", Q3_2025),
        ("上个季度", Q4_2025),
        ("先月", LAST_MONTH),
        ("昨年", LAST_YEAR),
        ("今週", THIS_WEEK),
        ("昨年の3月", MARCH_2025),
        ("2月に決めたこと", FEBRUARY),
        ("3月5日の会議", FIFTH_OF_MARCH),
        ("月曜日から", SINCE_MONDAY),
        ("過去3日間", "2026-03-15 to 2026-03-18"),
    ],
)
def test_a_date_is_read_in_its_language(text, expected):
    assert spans(text) == [expected]
    assert spans(unicodedata.normalize("NFD", text)) == [expected]


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("ayer a las 14:05", (14, 14)),
        ("ontem às 9h", (9, 10)),
        ("ieri pomeriggio", (12, 18)),
        ("gisteren om 9 uur", (9, 10)),
        ("вчера в 9 часов", (9, 10)),
        ("昨天下午3点", (15, 16)),
        ("昨日の午後", (12, 18)),
    ],
)
def test_a_time_of_day_is_read_beside_its_day(text, hours):
    ((start, end),) = parse(text, now=NOW).times
    assert start is not None
    assert end is not None
    assert (start.day, start.hour, end.hour) == (17, *hours)


@pytest.mark.parametrize(
    "text",
    [
        "¿qué pasó la semana pasada?",
        "que hicimos ayer",
        "o que aconteceu na semana passada?",
        "cosa è successo la settimana scorsa?",
        "wat is er vorige week gebeurd?",
        "что произошло на прошлой неделе?",
        "上周发生了什么？",
        "昨天我们做了什么",
        "先週何がありましたか？",
    ],
)
def test_a_question_for_everything_at_a_time_names_only_times(text):
    assert parse(text, now=NOW).only_times


@pytest.mark.parametrize("text", ["¿qué decidimos ayer?", "上周的数据库备份", "что сломалось вчера?"])
def test_a_question_with_a_subject_does_not_name_only_times(text):
    asked = parse(text, now=NOW)
    assert asked.times
    assert not asked.only_times


@pytest.mark.parametrize(
    "text",
    [
        "what did Domingo say about the mayo recipe",
        "notes from Julio and Abril on the mars rover",
        "who is Domenica and what does 昨日 mean?",
        "the no set option of martes",
        "Cinco de Mayo recipe",
        "Plaza de Mayo 2023",
        "A. J. Ayer on language",
        "Hoy paper on hypermedia",
        "Mei Lin and the dag of airflow",
        "hablé con Domingo",
        "hoy en día se usa Postgres",
        "hace mucho tiempo",
        "el próximo lunes",
        "¿qué hago cada lunes?",
        "el último día del mes",
        "o que fizemos na segunda tentativa?",
        "hoje em dia",
        "lunedì prossimo",
        "volgende maandag",
        "как настроить среду?",
        "среда разработки",
        "на следующей неделе",
        "目前天气如何",
        "提前天数怎么算",
        "上周期的数据",
        "一周一次",
        "每周一",
        "下周一",
        "2000年問題",
        "来週の月曜日",
        "毎週月曜日",
        "前年比の計算",
    ],
)
def test_a_false_friend_or_a_date_to_come_is_no_date(text):
    assert spans(text) == []


@pytest.mark.parametrize("form", date_words.FORMS)
@given(data=st.data())
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_every_date_has_the_hint_without_which_no_date_is_looked_for(form, data):
    written = data.draw(st.from_regex(re.compile(date_words.FORMS[form]), alphabet=DATE_LETTERS))
    assert date_words.HINT.search(written) or not date_words.date_pattern().search(written)


def test_half_a_year_is_a_date():
    assert parse("what broke in the first half of the year", now=NOW).times

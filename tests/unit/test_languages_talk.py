"""Turns of a talk in other languages than English: their names, titles, brackets, colons and quotation marks."""

# ruff: noqa: RUF001 - marks of other scripts are what is tested

from __future__ import annotations

import pytest

from fabula.engine.replies.dialogue import read_coming, read_said
from fabula.engine.replies.turns import read_turn

TURNS = [
    ("[Jan Kowalczyk: (nickt) Guten Abend.]", "Jan Kowalczyk", "nickt", "Guten Abend."),
    ("Herr Kowalczyk: (nickt) Guten Abend.", "Jan Kowalczyk", "nickt", "Guten Abend."),
    ("[Frau Dorn: „Guten Abend.“]", "Dorn", "", "Guten Abend."),
    ("Kowalczyk: Guten Abend.", "Herr Kowalczyk", "", "Guten Abend."),
    ("Mr. Kowalczyk: Good evening.", "Kowalczyk", "", "Good evening."),
    ("**Dr. Lund:** Good evening.", "Ida Lund", "", "Good evening."),
    ("[M. Dupont : (il sourit) Bonsoir.]", "Dupont", "il sourit", "Bonsoir."),
    ("Mme Lune : « Bonsoir. »", "Lune", "", "Bonsoir."),
    ("La noche es fría.", "Ana", "", "La noche es fría."),
    ("[Sra. Gil: (se ríe) Buenas noches.]", "Gil", "se ríe", "Buenas noches."),
    ("Don Ramiro: Buenas noches.", "Ramiro", "", "Buenas noches."),
    ("Signora Bassi: «Buonasera.»", "Carla Bassi", "", "Buonasera."),
    ("Dona Rita: Boa noite.", "Rita", "", "Boa noite."),
    ("Mevrouw Smit: Goedenavond.", "Smit", "", "Goedenavond."),
    ("Pan Nowak: „Dobry wieczór.”", "Nowak", "", "Dobry wieczór."),
    ("[Тётя Вера: (вздыхает) Добрый вечер.]", "Вера", "вздыхает", "Добрый вечер."),
    ("Вера: «Добрый вечер.»", "Вера", "", "Добрый вечер."),
    ("【小宝：（叹气）你回来了。】", "小宝", "叹气", "你回来了。"),
    ("[小宝：（叹气）你回来了。]", "小宝", "叹气", "你回来了。"),
    ("小宝：“你回来了。”", "小宝", "", "你回来了。"),
    ("［王先生：请坐。］", "王", "", "请坐。"),
    ("小宝：（叹气）你回来了。EOD", "小宝", "叹气", "你回来了。"),
    ("ミナさん：「おかえり。」", "ミナ", "", "おかえり。"),
    ("【健：（笑う）座って。】", "健", "笑う", "座って。"),
    ("[민수: (웃으며) 어서 와.]", "민수", "웃으며", "어서 와."),
    ("민수 씨: 어서 와.", "민수", "", "어서 와."),
    ("Frau Professorin Lindner: Nein.", "Clara Lindner", "", "Nein."),
    ("Der alte Karl: Ja.", "Karl", "", "Ja."),
    ("Kommissar Brandt: Wo waren Sie?", "Jonas Brandt", "", "Wo waren Sie?"),
    ("Oberkommissarin Brandt: Wo waren Sie?", "Ida Brandt", "", "Wo waren Sie?"),
    ("Peter Brandt: Hier.", "Jonas Brandt", "", "Peter Brandt: Hier."),
    ("Bishop: Here.", "Kate Bishop", "", "Here."),
    ("Inspetora Sequeira: Entre.", "Duarte Sequeira", "", "Entre."),
    ("Полковник Белов: Вольно.", "Иван Белов", "", "Вольно."),
    ("Karl (lacht): (steht auf) Ja.", "Karl", "lacht, steht auf", "Ja."),
    ("La tante Claire : « Non. »", "Claire", "", "Non."),
    ("Don Pablo: «No sé».", "Pablo", "", "No sé"),
    ("Nonno Paolo (ride): No.", "Paolo", "ride", "No."),
    ("Dr.ª Matos: Não.", "Clara Matos", "", "Não."),
    ("Oma Clara: ‘Nee, m’n kind.’", "Clara", "", "Nee, m’n kind."),
    ("Pan doktor Zieliński: Nie.", "Zieliński", "", "Nie."),
    ("Тётушка Клара: «Нет».", "Клара", "", "Нет"),
    ("Дед Павел (смеётся): Нет.", "Павел", "смеётся", "Нет."),
    ("李老师：不。", "李兰", "", "不。"),
    ("小李：不。", "李兰", "", "不。"),
    ("王总：不。", "王建国", "", "不。"),
    ("建国（笑）：不。", "王建国", "笑", "不。"),
    ("花子「いや。」", "山田花子", "", "いや。"),
    ("山田君：いや。", "山田健", "", "いや。"),
    ("花子さん（笑って）：いや。", "花子", "笑って", "いや。"),
    ("김 사장님: 아니.", "김민수", "", "아니."),
    ("민수 (웃으며): “아니.”", "김민수", "웃으며", "아니."),
    ("Grandma Clara (laughs): No.", "Clara", "laughs", "No."),
    ("Professor Hale: ‘No, don’t.’", "Clara Hale", "", "No, don’t."),
    ("Dear Mara: come home.", "Clara", "", "Dear Mara: come home."),
    ("‘Tis late.", "Clara", "", "‘Tis late."),
    ("李子：不甜。", "李兰", "", "李子：不甜。"),
]


@pytest.mark.parametrize(("reply", "name", "action", "message"), TURNS)
def test_a_turn_is_read_without_its_name_whatever_marks_it_has(
    reply: str, name: str, action: str, message: str
) -> None:
    said = read_said(reply, name, (name, "Mara"))
    assert (said.action, said.message) == (action, message)
    assert said.ended == ("EOD" in reply)
    coming = read_coming(reply, name, (name, "Mara"))
    assert (coming.said.action, coming.said.message) == (action, message)


@pytest.mark.parametrize(("reply", "name", "action", "message"), TURNS)
def test_what_has_arrived_of_a_turn_is_never_taken_back(reply: str, name: str, action: str, message: str) -> None:
    for length in range(len(reply)):
        settled = read_coming(reply[:length], name, (name, "Mara")).settled
        assert message.startswith(settled), (action, reply[:length])


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("【小宝：你回来了。】\n【玛拉：我累了。】", "你回来了。"),
        ("小宝：你回来了。\n玛拉：我累了。", "你回来了。"),
        ("[小宝：你回来了。]\n[老王：谁？]", "你回来了。"),
    ],
)
def test_the_turn_of_the_next_speaker_is_left_out(reply: str, message: str) -> None:
    assert read_said(reply, "小宝", ("小宝", "玛拉")).message == message


@pytest.mark.parametrize(
    ("reply", "name", "turn"),
    [
        ("小宝（叹气）：你回来了。", "小宝", "你回来了。"),
        ("Herr Kowalczyk: Guten Abend.", "Jan Kowalczyk", "Guten Abend."),
        ("Mr. Kowalczyk: Good evening.", "Kowalczyk", "Good evening."),
        ("Herr: so sagte er.", "Herr Kowalczyk", "Herr: so sagte er."),
        ("健さん：座って。", "健", "座って。"),
    ],
)
def test_an_actors_line_has_no_name_before_it(reply: str, name: str, turn: str) -> None:
    assert read_turn(reply, name, ["玛拉", "Mara"]) == turn

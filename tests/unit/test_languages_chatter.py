"""Chatter around a text in other languages than English, and sentences of stories that look like it.

The lines are as models write them. Those in `LATER` were written after the rules. What the rules must not do is take a
sentence out of a story; what they miss stays in the text, where its author sees it.
"""

# ruff: noqa: RUF001 - letters of other scripts are what is tested

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.engine.replies import clean_prose
from tongues import PARAGRAPHS

if TYPE_CHECKING:
    from collections.abc import Sequence

BEFORE = {
    "de": [
        *(
            "Hier ist die Erzählung:",
            "Gerne, hier kommt deine Kurzgeschichte:",
            "Natürlich! Hier ist das nächste Kapitel:",
        ),
        *(
            "Selbstverständlich. Anbei die überarbeitete Fassung:",
            "Im Folgenden finden Sie den Text, den Sie wünschten:",
        ),
    ],
    "fr": [
        *("Voici la nouvelle :", "Bien sûr ! Voici l'histoire que vous avez demandée :", "Voici le premier chapitre :"),
        *("Avec plaisir, je vous propose ce récit :", "Ci-dessous, la version retravaillée du passage :"),
    ],
    "es": [
        *(
            "Aquí tienes el cuento:",
            "¡Claro! Aquí está la historia que pediste:",
            "A continuación, el capítulo revisado:",
        ),
        *("Por supuesto, te presento el relato:", "Esta es la nueva versión de la escena:"),
    ],
    "it": [
        *("Ecco il racconto:", "Certo! Ecco la storia che hai chiesto:", "Di seguito trovi il capitolo completo:"),
        *("Volentieri, questa è la scena:", "Ecco a te la versione riveduta del testo:"),
    ],
    "pt": [
        *("Aqui está o conto:", "Claro! Segue a história que pediu:", "Com certeza, aqui vai o capítulo:"),
        *("A seguir, a versão revista do texto:", "Eis a narrativa pedida:"),
    ],
    "nl": [
        *(
            "Hier is het verhaal:",
            "Natuurlijk! Hier volgt het eerste hoofdstuk:",
            "Hieronder vind je de herziene versie:",
        ),
        *("Graag, hierbij de tekst waar je om vroeg:", "Zeker, hier heb je een kort verhaal:"),
    ],
    "pl": [
        *("Oto opowiadanie:", "Oczywiście! Oto historia, o którą prosiłeś:", "Poniżej znajduje się poprawiona wersja:"),
        *("Chętnie, oto pierwszy rozdział:", "Przedstawiam tekst zgodnie z prośbą:"),
    ],
    "ru": [
        *("Вот рассказ:", "Конечно! Вот история, которую вы просили:", "Ниже приведён исправленный текст:"),
        *("С удовольствием, вот первая глава:", "Предлагаю следующую версию отрывка:"),
    ],
    "zh": [
        *("以下是小说正文：", "好的，这是您要的故事：", "当然！下面是第一章的内容："),
        *("没问题，请看修改后的版本：", "这是为您创作的短篇小说："),
    ],
    "ja": [
        *("以下が小説の本文です：", "承知しました。こちらがご依頼の物語です：", "もちろんです。次が第一章になります："),
        *("はい、それでは短編をお届けします：", "こちらは書き直した原稿です："),
    ],
    "ko": [
        *("다음은 소설입니다:", "네, 요청하신 이야기를 써 보았습니다:", "물론입니다! 아래는 수정한 원고입니다:"),
        *("알겠습니다. 여기 첫 번째 장면이 있습니다:", "아래에 짧은 이야기를 적었습니다:"),
    ],
}
BEHIND = {
    "de": [
        *(
            "Ich hoffe, die Geschichte gefällt dir!",
            "Lass mich wissen, ob ich etwas ändern soll.",
            "Viel Spaß beim Lesen!",
        ),
        *("Möchtest du, dass ich den Text kürze?", "Wenn du möchtest, kann ich das Ende überarbeiten."),
    ],
    "fr": [
        *(
            "J'espère que cette histoire vous plaira !",
            "N'hésitez pas à me demander des modifications.",
            "Bonne lecture !",
        ),
        *("Souhaitez-vous que je continue ?", "Dites-moi si vous voulez que j'ajuste le ton."),
    ],
    "es": [
        *(
            "¡Espero que te guste la historia!",
            "Avísame si quieres que cambie algo.",
            "¿Quieres que continúe con otro capítulo?",
        ),
        *("Si deseas, puedo ajustar el tono.", "Dime si hay que corregir algo."),
    ],
    "it": [
        *("Spero che il racconto ti piaccia!", "Fammi sapere se vuoi qualche modifica.", "Buona lettura!"),
        *("Vuoi che continui la storia?", "Se desidera, posso accorciare il testo."),
    ],
    "pt": [
        *("Espero que goste da história!", "Avise se quiser que eu altere algo.", "Boa leitura!"),
        *("Se quiser, posso continuar a narrativa.", "Gostaria que eu mudasse o final?"),
    ],
    "nl": [
        *("Ik hoop dat het verhaal je bevalt!", "Laat het me weten als ik iets moet aanpassen.", "Veel leesplezier!"),
        *("Wil je dat ik de tekst inkort?", "Als je wilt, schrijf ik een vervolg."),
    ],
    "pl": [
        *("Mam nadzieję, że opowiadanie ci się spodoba!", "Daj znać, jeśli mam coś zmienić.", "Miłej lektury!"),
        *("Czy chcesz, żebym kontynuował?", "Jeśli chcesz, mogę skrócić tekst."),
    ],
    "ru": [
        *("Надеюсь, рассказ вам понравится!", "Дайте знать, если нужно что-то изменить.", "Приятного чтения!"),
        *("Хотите, чтобы я продолжил?", "Если хотите, я могу сократить текст."),
    ],
    "zh": [
        *("希望您喜欢这篇小说！", "如果您需要修改，请告诉我。", "如需调整风格或篇幅，欢迎随时提出。"),
        *("您觉得哪里需要修改吗？", "希望这个故事符合你的要求。"),
    ],
    "ja": [
        *(
            "この物語を楽しんでいただければ幸いです。",
            "修正が必要でしたらお知らせください。",
            "何か変更したい点はありますか？",
        ),
        *("ご希望があれば続きを書きます。", "気に入っていただけると嬉しいです。"),
    ],
    "ko": [
        *("이야기가 마음에 드셨으면 좋겠습니다!", "수정이 필요하면 말씀해 주세요.", "원하시면 이어서 써 드릴게요."),
        *("즐겁게 읽어 주시길 바랍니다.", "더 필요한 것이 있으면 알려 주세요."),
    ],
}
# Written after the rules.
LATER = {
    "de": ["Klar, hier ist ein Entwurf der Szene:", "Hier die gewünschte Geschichte:", "Es folgt die Fortsetzung:"],
    "fr": [
        "D'accord, voici la suite :",
        "Très bien. Voici une histoire courte pour toi :",
        "Voici ce que je vous propose comme texte :",
    ],
    "es": [
        "Perfecto, aquí va la continuación:",
        "Te dejo aquí el relato:",
        "Encantado, a continuación tienes la escena:",
    ],
    "it": ["Va bene, ecco una bozza del capitolo:", "Qui sotto trovi la fiaba:"],
    "pt": ["Claro, eis o texto revisto:", "Abaixo está a cena pedida:"],
    "nl": ["Prima! Hier komt het vervolg:", "Hierbij het gevraagde fragment:"],
    "pl": ["Jasne! Poniżej ciąg dalszy:", "Oto poprawiony fragment:"],
    "ru": ["Хорошо, вот продолжение:", "Ниже — черновик сцены:"],
    "zh": ["明白了，以下为续写内容：", "下面是按您的要求写的故事："],
    "ja": ["かしこまりました。以下に続きを記します：", "こちらが第二章です："],
    "ko": ["좋습니다! 다음은 이어지는 장면입니다:", "요청하신 글입니다:"],
}
LATER_BEHIND = {
    "de": [
        "Sag mir Bescheid, falls ich das Kapitel kürzen soll!",
        "Soll ich noch eine Fortsetzung schreiben?",
        "Ich hoffe, der Text entspricht Ihren Vorstellungen.",
    ],
    "fr": ["Si vous souhaitez, je peux développer la fin.", "J'espère que le texte correspond à votre demande."],
    "es": ["Si quieres, lo alargo.", "Espero que el texto sea de su agrado."],
    "it": ["Non esitare a chiedere modifiche.", "Spero che la scena sia di tuo gradimento."],
    "pt": ["Fique à vontade para pedir ajustes.", "Espero que o texto lhe agrade."],
    "nl": ["Zal ik verder schrijven?", "Hopelijk vind je het verhaal mooi."],
    "pl": ["Proszę dać znać, jeśli potrzebne są poprawki.", "Mam nadzieję, że tekst spełnia twoje oczekiwania."],
    "ru": ["Сообщите, если нужны правки.", "Надеюсь, текст соответствует вашим ожиданиям."],
    "zh": ["需要我继续续写吗？", "希望这篇文章让您满意。"],
    "ja": ["ご要望があれば修正いたします。", "お楽しみいただけましたでしょうか。"],
    "ko": ["혹시 고쳐야 할 부분이 있으면 말씀해 주세요.", "마음에 드시길 바랍니다."],
}
LED = {
    "de": "Danke für deine Anfrage! Hier ist die Erzählung:",
    "fr": "Comme demandé, voici la scène révisée :",
    "es": "¡Hola! Aquí tienes un cuento breve:",
    "it": "Grazie per la richiesta. Ecco il racconto:",
    "pt": "Como solicitado, aqui está a cena:",
    "nl": "Zoals gevraagd, hier is de scène:",
    "pl": "Dziękuję za prośbę. Oto tekst:",
    "ru": "По вашей просьбе — вот сцена:",
    "zh": "按照您的要求，以下是修改后的场景：",
    "ja": "ご依頼ありがとうございます。物語は以下の通りです：",
    "ko": "안녕하세요! 다음은 짧은 이야기입니다:",
}
# First and last lines of stories that speak of texts, hope and offers.
OF_STORIES = [
    *("Hier ist die Geschichte zu Ende.", "Hier ist alles, was er mir ließ: ein Mantel und zwei Briefe."),
    *(
        "Ich hoffe, du findest heim.",
        "Natürlich, dachte sie, hier kommt der Regen.",
        "Wenn du etwas änderst, ändert sich alles.",
    ),
    *("Viel Spaß hatten sie nicht.", "Soll ich gehen?", "Gern erzählte sie die Geschichte vom Turm:"),
    *(
        "Voici la mer.",
        "J'espère que tu viendras.",
        "Voilà ce que disait la lettre : rien.",
        "Si tu veux, nous partirons.",
    ),
    *("Aquí está el mar.", "Espero que vuelvas.", "Claro que la historia no acabó aquí.", "Dime si vienes."),
    *("Ecco il mare.", "Spero che torni.", "Certo, il racconto di suo padre era un altro.", "Vuoi che resti?"),
    *("Aqui está o mar.", "Espero que voltes.", "Se quiser, fique.", "A história acabou assim."),
    *("Hier is de zee.", "Ik hoop dat je komt.", "Wil je blijven?", "Het verhaal was uit."),
    *("Oto morze.", "Mam nadzieję, że wrócisz.", "Czy chcesz zostać?", "Dobrze, tekst listu był krótki."),
    *("Вот море.", "Надеюсь, ты вернёшься.", "Хотите чаю?", "Да, рассказ деда был другим.", "Вот и вся история."),
    *(
        "这是她的海。",
        "希望你回来。",
        "好的，他说，走吧。",
        "如果你继续走，就会看见灯塔。",
        "这是一个没有人相信的故事。",
    ),
    *("これが海だ。", "楽しんでいる声がした。", "もし帰れたら、続きを話そう。", "何か変わった音がした。"),
    *(
        "Hier sind die Szenen, die niemand sah.",
        "Ich hoffe, dass die Geschichte der Insel nicht stirbt.",
        "Sag Bescheid, wenn du kommst.",
        "Voici la version de ma mère.",
        "J'espère que l'histoire finira bien.",
        "Dis-moi la suite.",
        "Espero que el cuento acabe.",
        "Si quieres, cambio de barco.",
        "Ecco la storia di mio padre.",
        "Se vuoi, cambio strada.",
        "Espero que a história acabe.",
        "Se quiser, mudo de casa.",
        "Ik hoop dat het verhaal eindigt.",
        "Wil je verder?",
        "Oto historia mojej matki.",
        "Daj znać, gdy dopłyniesz.",
        "Надеюсь, история на этом кончится.",
        "Если хотите, я изменю имя.",
        "希望故事有一个结局。",
        "你觉得呢？",
        "如果你想改变什么，就现在。",
        "もう一度続きを書き直した。",
        "이야기를 고쳐 쓰던 밤이었다.",
        "Wil je dat ik iets verander?",
        "他说，下面是海。",
    ),
    *(
        "Si cambias de idea, avísame.",
        "Se cambi idea, fammi sapere.",
        "Se mudar de ideia, avise.",
        "Als je van gedachten verandert, laat het me weten.",
        "Jeśli zmienisz zdanie, daj znać.",
        "如果你改变主意，告诉我。",
        "彼は予定を変更すると教えてくれた。",
        "Enjoy the silence, he said.",
        "If you change your mind, let me know.",
        "Happy to help, she said.",
    ),
    *(
        "Zimmer: 312",
        "Chambre : 312",
        "房间：312",
        "Antwort: Windows 98!",
        "She had 500 words.",
        "Yes, here is the key.",
    ),
    *(
        "Ich schreibe dir, wenn ich das Ende der Reise kenne.",
        "Wenn du möchtest, mache ich den zweiten Teil der Strecke allein.",
        "Sie hatte 500 Wörter im Kopf und keines auf der Zunge.",
        "Voulez-vous que je ferme la fenêtre ?",
        "Dites-moi si vous voulez une autre tasse.",
        "Puedo escribir tu nombre en la arena, si quieres.",
        "Aquí está la carta que pediste.",
        "Vuoi che chiuda la finestra?",
        "Se quiser, posso mudar de nome.",
        "Zal ik een ander deel van de dijk lopen?",
        "Czy mam zrobić drugą część drogi sam?",
        "Хотите, я напишу вам из Одессы?",
        "你想要另一个结局吗？",
        "続きは明日書きます、と手紙にあった。",
        "이야기를 이어서 쓸 수 있을까.",
    ),
    *("여기 바다가 있다.", "마음에 남은 것은 불빛이었다.", "혹시 그가 올까.", "이야기는 끝났다."),
]


TEXTS = {tongue: "\n\n".join(one.format(n=7) for one in PARAGRAPHS[tongue]) for tongue in ("de", "fr", "es", "ru")}
TEXTS |= {tongue: "\n\n".join(one.format(n=7) for one in PARAGRAPHS[tongue]) for tongue in ("zh", "ja", "ko")}
TEXTS |= {
    "it": "Il vento veniva dal mare e la luce non era più là.\n\nLei chiuse la porta della torre con le mani fredde.",
    "pt": "O vento vinha do mar e a luz não se via.\n\nEla fechou a porta da torre com as mãos frias.",
    "nl": "De wind kwam van zee en het was er niet licht.\n\nZij sloot de deur van de toren met haar koude handen.",
    "pl": "Wiatr wiał od morza i nie było światła.\n\nZamknęła drzwi do wieży, ale on jest na morzu.",
}


def left(lines: Sequence[str], tongue: str, *, behind: bool) -> list[str]:
    """The lines that stay before or behind a text in their language."""
    text = TEXTS[tongue]
    replies = {line: f"{text}\n\n{line}" if behind else f"{line}\n\n{text}" for line in lines}
    return [line for line, said in replies.items() if clean_prose(said, labels=(), last=True, aids=False).text != text]


@pytest.mark.parametrize("tongue", BEFORE)
def test_announcements_go(tongue: str) -> None:
    assert not left([*BEFORE[tongue], LED[tongue]], tongue, behind=False)


def test_most_announcements_go_that_were_written_after_the_rules() -> None:
    stay = [line for tongue, lines in LATER.items() for line in left(lines, tongue, behind=False)]
    assert stay == []


def test_wishes_and_offers_go_where_no_story_could_say_them() -> None:
    stay = [line for tongue, lines in BEHIND.items() for line in left(lines, tongue, behind=True)]
    assert (len(stay), sum(map(len, BEHIND.values()))) == (8, 55)
    stay = [line for tongue, lines in LATER_BEHIND.items() for line in left(lines, tongue, behind=True)]
    assert (len(stay), sum(map(len, LATER_BEHIND.values()))) == (1, 23)


@pytest.mark.parametrize("tongue", TEXTS)
def test_a_story_stays_whole_before_an_offer_in_its_last_line(tongue: str) -> None:
    blank = "" if tongue in {"zh", "ja"} else " "
    for line in (BEHIND[tongue][1], LATER_BEHIND[tongue][-1]):
        cleaned = clean_prose(f"{TEXTS[tongue]}{blank}{line}", labels=(), last=True, aids=False)
        assert cleaned.text.startswith(TEXTS[tongue])
        assert cleaned.text + blank + "".join(piece.text for piece in cleaned.dropped) in {
            f"{TEXTS[tongue]}{blank}{line}",
            f"{TEXTS[tongue]}{blank}{line}{blank}",
        }


@pytest.mark.parametrize("tongue", TEXTS)
def test_no_sentence_of_a_story_goes(tongue: str) -> None:
    for line in OF_STORIES:
        for text in (f"{line}\n\n{TEXTS[tongue]}", f"{TEXTS[tongue]}\n\n{line}"):
            assert clean_prose(text, labels=(), last=True, aids=False).text == text

"""Where sentences end in other languages than English: abbreviations, ordinal numbers, quotation marks."""

# ruff: noqa: RUF001 - typographic marks and letters of other scripts are what is tested

from __future__ import annotations

import pytest

from fabula.story.sentences import sentences


@pytest.mark.parametrize(
    "text",
    [
        "Am 3. Mai kam er.|Sie lachte.",
        "3. Mai: Er kam.|Sie ging.",
        "Vom 12. August an regnete es.|Dann nicht mehr.",
        "Er kam am 3.|Dann ging er.",
        "Im 19. Jahrhundert stand hier ein Turm.|Er fiel.",
        "Sie wohnte im 2. Stock.|Er auch.",
        "Er mochte z. B. Anna.|Und z.B. Ida.|Mehr nicht.",
        "Es war leer, d. h. Ida fehlte.|Er ging.",
        "Er kam mit Hr. Lund.|Es war Nr. 7.|Sie ging.",
        "Herr Dr. Meier kam.|Frau Prof. Lund blieb.",
        "La Sra. Gil vino.|No habló.",
        "El Sr. Mora y la Dra. Paz vinieron.|No hablaron.",
        "Vive en el núm. 7.|No habla.",
        "M. Dupont entra.|Mme. Lune sortit.|Elle rit.",
        "Le Dr. Martin vint.|Il pleuvait.",
        "Il sig. Rossi venne con il dott. Bianchi.|Poi uscì.",
        "La Sig.ra Verdi rise.|Poi uscì.",
        "O Sr. Silva veio.|A Dra. Lima saiu.|Chovia.",
        "De heer dhr. Jansen kwam.|Mevr. De Vries bleef.",
        "Het was bijv. Anna.|Toen ging hij.",
        "Przyszedł np. Jan z ul. Długiej.|Potem wyszedł.",
        "Ks. Nowak i prof. Lis przyszli.|Padało.",
        "Он жил на ул. Ленина.|Это, т. е. Маша, знала.|Он молчал.",
        "Он дал им.|Она взяла.",
        "他说。|“你来了。”|她笑了。|“走吧。”",
        "“走。”|“好。”他说。|门关上了。",
        "「行こう。」|マラは言った。|「うん。」",
        "김 씨가 왔다.|그는 웃었다.",
        "Herr Prof. Dr. Lang sprach.|„Warum?“|Er schwieg.",
        "Um 1200 v. Chr. brannte die Stadt.|Es kostete 5 Mio. Euro.",
        "Le Me. Blanc lit l'art. 5.|— Où vas-tu ? demanda-t-il.|— Nulle part.",
        "Il vint à 18 h.|La cloche sonna.|Av. J.-C. déjà, on pêchait.",
        "Nació en el s. XIX en Sto. Domingo.|Vive en EE. UU. desde niña.",
        "L'avv. Marini e l'ing. Fusi ridono.|Vedi a pag. 12.",
        "A Profa. Dias e o Pe. António saíram.|Era o séc. XIX.|Choveu.",
        "Zij kwam o.a. met Jan.|Hij niet.",
        "Przyszedł m.in. Jan.|Było ok. godz. 5 rano.",
        "Он жил в 1990 г.|Мы молчали.|В г. Орле шёл дождь.",
        "Это стоило 3 руб. 50 коп. за штуку.|Дорого.",
        "“정말?” 민지가 물었다.|“물 줘.”|그는 물을 마셨다.",
        "« Viens. »|Elle part.|« Bon », dit-il.",
        "他问：“你是谁？”|没人回答。|她等啊等……|天黑了。",
        "「もういい……やめて」と彼は言った。",
        "1998. 3. 2. 아침에 편지가 왔다.|봉투는 비어 있었다.",
        "Am 3. 5. 1945 kam er.|Es regnete.",
        "Es war 1945.|3 Männer kamen.",
        "Кн. Болконский жил в дер. Горки до н. э.|Он умер.",
        "그는 “가자.”라고 말했다.|그녀는 웃었다.",
        # In English little changes.
        "She was ill.|Mara knew.|He met Jan.|Mara smiled.",
        "Sgt. Pike saw No. 7.|It cost approx. 3.50 each.",
        "She was 12.|May came.|It rained.",
        "I am 12.|August came hot.",
        "He lived at 12 Baker St. and slept.|She did not.",
        "He gave it to me.|She took it.",
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str) -> None:
    parts = text.split("|")
    assert sentences(("" if "。" in text else " ").join(parts)) == parts

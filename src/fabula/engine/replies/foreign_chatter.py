"""Chatter around a text in other languages than English: its announcement before it, and good wishes and offers behind.

Each language has a few words of several kinds. A line counts only if it has words of two or three kinds in their order.
In `tests/unit/test_languages_chatter.py`, they find 78 of 80 announcements and 46 of 78 wishes and offers, and take no
story's sentence. As in English, a story that begins with "Here is the story of my father:" loses that line, which is
recorded.
"""

# ruff: noqa: RUF001 - letters of other scripts

from __future__ import annotations

import re
from typing import Final

from fabula.base.remembering import remembered

_TURNED: Final = "¡¿"
_COUNT: Final = re.compile(  # "(Wortzahl: 512)", "Nota: el texto tiene unas 500 palabras."
    r"[(（]?[^\W\d][^\d()（）:：\n]{1,24}[:：] ?\d[\d.,]{2,6}[)）]?\Z|"
    r"(?:anmerkung|hinweis|note|nota|noot|uwaga|примечание|注|참고) ?[:：][^\n]{0,60}(?:\d{3}|[百千])[^\n]{0,6}?"
    r"(?:wörter|mots|palabras|parole|palavras|woorden|słów|слов|字|단어)[^\n]{0,12}\Z",
    re.IGNORECASE,
)
_WISHES: Final = (
    r"viel (?:spaß|freude|vergnügen) (?:beim|mit)|bonne lecture|buona lettura|boa leitura|buena lectura|"
    r"veel leesplezier|"
    r"veel plezier (?:met|bij)|(?:miłej|przyjemnej) lektury|приятного чтения|祝(?:您|你)?阅读|祝(?:您|你)?閱讀|"
    r"お楽しみください|즐겁게 (?:읽|감상)"
)
# What agrees; what points to a text; what the text is; who hopes, and for whom; what begins an offer; what it offers.
_WORDS: Final = {
    "de": (
        "gerne?|natürlich|klar|sicher|selbstverständlich|alles klar|in ordnung|sehr gerne?",
        (
            "hier (?:ist|sind|kommt|folgt|findest du|finden sie|haben sie|hast du)|anbei|im folgenden|"
            "nachfolgend|es folgt"
        ),
        (
            "geschichte|erzählung|story|text|kapitel|fassung|version|entwurf|szene|abschnitt|fortsetzung|"
            "märchen|kurzgeschichte"
        ),
        "(?:ich )?hoffe|hoffentlich",
        "dir|du|ihnen|sie|deinen|ihren",
        (
            "(?:lass|lassen sie) (?:es )?mich|sag(?:en sie)? (?:mir |mir gerne? |gerne? |einfach )?bescheid|"
            "gib mir|geben sie mir|möchtest du|möchten sie|soll ich|(?:wenn|falls) (?:du|sie) (?:möchte|will|"
            "wünsch|noch)|gerne kann ich"
        ),
        "überarbeit|fortsetzung|weiterschreib|umschreib|feedback|rückmeldung",
    ),
    "fr": (
        "bien sûr|volontiers|avec plaisir|d['’]accord|certainement|très bien|parfait|absolument|avec grand plaisir",
        "voici|voilà|ci-dessous|vous trouverez|tu trouveras|je (?:vous|te) propose",
        "histoire|récit|nouvelle|texte|chapitre|version|brouillon|scène|passage|suite|conte",
        "j['’]espère|en espérant",
        "vous|te|tu|t['’]|votre|vos|tes|ton",
        (
            "n['’]hésite[sz]?|dites-moi|dis-moi|faites-moi|fais-moi|souhaitez-vous|souhaites-tu|voulez-vous|"
            "veux-tu|si (?:vous|tu) (?:voulez|veux|souhaite|désire|avez|as)"
        ),
        "modification|retravaill|réécri",
    ),
    "es": (
        "claro(?: que sí)?|por supuesto|con gusto|desde luego|de acuerdo|vale|perfecto|encantad[oa]|con mucho gusto",
        ("aquí (?:tienes|tiene|está|va|te dejo|le dejo|os dejo)|a continuación|(?:te|le) presento|este es|esta es"),
        "historia|relato|cuento|texto|capítulo|versión|borrador|escena|fragmento|continuación|narración",
        "espero",
        "te|le|les|os|tu|su|tus|sus|disfrutes?|disfrute",
        (
            "av[ií]same|avíseme|dime|dígame|h[aá]zmelo|no dudes|no dude|si (?:quieres|desea|deseas|necesitas|"
            "prefieres)|(?:te|le) gustaría|quieres que"
        ),
        "modific|reescrib|retoc",
    ),
    "it": (
        "certo|certamente|volentieri|con piacere|va bene|d['’]accordo|naturalmente|perfetto|con molto piacere",
        "ecco(?:lo|la|ti|le|vi)?|di seguito|qui sotto|questa è|questo è|(?:ti|le) presento",
        "storia|racconto|testo|capitolo|versione|bozza|scena|brano|seguito|continuazione|fiaba",
        "spero",
        "ti|le|vi|tuo|tue|suo|sue|tuoi|suoi",
        (
            "fammi sapere|mi faccia sapere|dimmi|se (?:vuoi|vuole|desideri|desidera|preferisci)|vuoi che|"
            "vorresti|non esitare"
        ),
        "modific|riscriv|ritocc",
    ),
    "pt": (
        "claro(?: que sim)?|com certeza|com prazer|certamente|está bem|perfeito|sem problema|com todo o prazer",
        "aqui (?:está|estão|vai|tens|tem)|segue(?:-se)?|a seguir|eis|abaixo|apresento",
        "história|conto|texto|capítulo|versão|rascunho|cena|trecho|continuação|narrativa",
        "espero",
        "te|lhe|você|vocês|goste|gostes|aprecie|tuas?|suas?",
        (
            "avis[ae]|diz-me|me diga|diga-me|não hesites?|fique à vontade|se (?:quiseres|quiser|desejar)|"
            "caso queira|gostarias|gostaria|queres que"
        ),
        "modifi|reescrev",
    ),
    "nl": (
        "natuurlijk|zeker|graag|prima|uiteraard|goed|oké|geen probleem|heel graag",
        "hier (?:is|zijn|volgt|komt|heb je|vind je)|hieronder|hierbij",
        "verhaal|vertelling|tekst|hoofdstuk|versie|concept|scène|fragment|vervolg|passage|sprookje",
        "(?:ik )?hoop|hopelijk",
        "je|jij|jou|u|jouw|uw",
        (
            "laat (?:het )?me|laat gerust|wil je|wilt u|zal ik|(?:als|mocht) (?:je|u) (?:wil|wens|nog|iets)|"
            "aarzel niet|geef gerust"
        ),
        "herschrij|verder ?schrij|feedback",
    ),
    "pl": (
        "oczywiście|jasne|chętnie|pewnie|z przyjemnością|dobrze|naturalnie|świetnie|z wielką przyjemnością",
        "oto|poniżej|przedstawiam|proszę, oto|tak wygląda",
        "opowiadanie|opowieść|historia|tekst|rozdział|wersj[aię]|szkic|scen[ay]|fragment|ciąg dalszy|bajka",
        "mam nadzieję",
        "ci|ciebie|państwu|panu|pani|twoje|twoim|spodoba|spodobał[oa]?",
        ("daj(?:cie)? (?:mi )?znać|proszę dać|czy (?:chcesz|chciał)|(?:jeśli|jeżeli) (?:chcesz|potrzebujesz|coś)"),
        "poprawki|poprawek|przerob",
    ),
    "ru": (
        "конечно|разумеется|с удовольствием|хорошо|безусловно|отлично|да|с большим удовольствием",
        "вот|ниже|предлагаю|представляю|перед вами|далее следует",
        ("рассказ|история|историю|текст|глав[ау]|верси[яю]|черновик|сцен[ау]|отрывок|продолжение|повесть|сказк[ау]"),
        "надеюсь",
        "вам|тебе|вас|ваш[а-я]*|тво[а-я]*|понрав[а-я]*",
        (
            "дай(?:те)? (?:мне )?знать|сообщи(?:те)?|скажи(?:те)?|если (?:хоти|нужно|захоти)(?:те|шь)?|"
            "хоти(?:те|шь), чтобы|хотел[аи]? бы"
        ),
        "доработ|правк|замечан",
    ),
    "zh": (
        "好的|当然|當然|没问题|沒問題|可以|明白了?|好|(?:非常)?乐意|(?:非常)?樂意",
        "这是|這是|以下是|下面是|以下为|以下為|这里是|這裡是|请看|請看|为您|為您|为你|為你",
        "小说|小說|故事|正文|文章|章节|章節|版本|初稿|草稿|场景|場景|续写|續寫|[一二三四五六七八九十0-9]章|短篇|内容|內容",
        "希望",
        "您|你",
        "如果(?:您|你)?(?:想|需要|希望|有|觉得|覺得)|如需|若需|欢迎|歡迎|请告诉我|請告訴我|需要我|要不要我|您觉得|有什么需要|有什麼需要",
        "续写|續寫|改写|改寫|扩展|擴展|润色|潤色|反馈|(?:修改|调整)(?=，请告诉|风格|篇幅)",
    ),
    "ja": (
        "はい|もちろん(?:です)?|承知(?:いた)?しました|かしこまりました|了解(?:です|しました)?|わかりました|喜んで",
        "以下|こちら(?:が|は)|次(?:が|は)|これが|では|それでは|下記",
        "小説|物語|短編|作品|本文|原稿|章|シーン|場面|続き|バージョン|ストーリー|文章|お話",
        "お楽しみ|楽しんで|気に入って",
        "いただけ|ください|幸いです",
        "必要(?:で|が)あれば|必要でしたら|もしよろしければ|いかが|よろしければ|何か|ご希望|ご要望|他に",
        "修正が|書き直",
    ),
    "ko": (
        "네|물론(?:입니다|이죠|이에요)?|알겠습니다|좋습니다|그럼요|기꺼이요?",
        "다음은|아래는|여기|이것은|아래에|요청하신|부탁하신",
        "이야기|소설|단편|글|본문|원고|장면|초안|이어지는|버전|작품|동화",
        "즐겁게|마음에|재미있게",
        "바랍니다|좋겠습니다|드시길|드셨으면",
        "원하시면|필요하시면|더 필요|혹시|언제든|수정이",
        "수정|이어서 써|다듬",
    ),
}


@remembered(16)
def _patterns(tag: str) -> tuple[tuple[re.Pattern[str], ...], tuple[re.Pattern[str], ...]]:
    """What opens and what closes a reply in one language; nothing for a language that is not known."""
    if tag not in _WORDS:
        return (), ()
    yes, here, work, hope, you, offer, edit = _WORDS[tag]
    # In scripts without spaces a word has no border that a pattern knows.
    left, right = ("", "") if tag in {"zh", "ja", "ko"} else (r"(?<!\w)", r"(?!\w)")
    if tag in {"de", "nl"}:  # the last part of a compound is the text: "Kurzgeschichte"
        left = ""
    agrees = rf"(?:{yes}){right} ?[!,.！，。、][!., ]{{0,2}}[¡¿]?"
    opening = (
        rf"(?:{agrees})?(?:{here}){right}[^\n.!?。！？:：]{{0,60}}?{left}(?:{work})[^\n!?。！？]{{0,140}}[:：]\Z",
        rf"{agrees}[^\n:：]{{0,80}}?{left}(?:{work})[^\n:：]{{0,100}}[:：]\Z",
        rf"{agrees}(?:{here}){right}[^\n.!?。！？:：]{{0,60}}?{left}(?:{work})[^\n!?。！？:：]{{0,100}}[.!。！]\Z",
    )
    addressed = rf"(?=[^\n]{{0,160}}?{left}(?:{you}){right})"
    closing: tuple[str, ...] = (
        rf"(?:{_WISHES})[^\n]{{0,120}}\Z",
        rf"(?:{hope}){right}{addressed}[^\n]{{0,120}}?{left}(?:{work})[^\n]{{0,160}}\Z",
        rf"(?:{offer})[^\n]{{0,120}}?(?:{edit})[^\n]{{0,160}}\Z",
    )
    if tag in {"ja", "ko"}:  # the verb is the last word of a sentence
        closing += (
            rf"[^\n]{{0,60}}?(?:{hope})[^\n]{{0,60}}?(?:{you})[^\n]{{0,60}}\Z",
            rf"[^\n]{{0,60}}?(?:{edit})[^\n]{{0,60}}?(?:{you}|말씀|알려)[^\n]{{0,60}}\Z",
        )
    made: list[re.Pattern[str]] = []
    for form in (*opening, *closing):
        made.append(re.compile(form, re.IGNORECASE))  # noqa: PERF401 - tests find who builds a pattern by its frame
    return tuple(made[: len(opening)]), tuple(made[len(opening) :])


def opens(line: str, tag: str) -> bool:
    """Whether a line announces the text that follows, in the language of this tag."""
    return any(pattern.match(line.lstrip(_TURNED)) for pattern in _patterns(tag.partition("-")[0])[0])


def closes(line: str, tag: str) -> bool:
    """Whether a line is a wish for the reader of a text, or an offer to change it, in the language of this tag."""
    if tag.partition("-")[0] in _WORDS and _COUNT.match(line):
        return True
    return any(pattern.match(line.lstrip(_TURNED)) for pattern in _patterns(tag.partition("-")[0])[1])

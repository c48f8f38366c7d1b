"""How long a story must be, as a brief says it: words, characters or pages, of the whole or of each part.

A brief is read once, from left to right. Its numbers are joined with what they count; what stands around a number of
words says how it is bounded, whether it is that of each part, and whether it measures the story at all ("a letter of
100 words", "the 3,000 words that she had left").
"""

# ruff: noqa: RUF001 - dashes, signs and letters as people type them

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from fabula.base.kept import of_text
from fabula.craft.numbers import HALF, LARGEST, Number, numbers_in

Bound: TypeAlias = Literal["range", "about", "least", "most", "exactly"]
Length: TypeAlias = tuple[Bound, int, int]
"""A number of words as somebody asks for it: how it is bounded, low, high."""

WORDS_A_PAGE: Final = 400
_WORDS_A_NORM_PAGE: Final = 250  # a Normseite, a feuillet, a cartella: 1,500 to 1,800 characters
_WORDS_A_SHEET: Final = 50  # Korean manuscript paper: 200 syllables
SMALLEST: Final = 20  # "in three words" speaks of something else than a story
_LETTERS_A_WORD: Final = 6  # with the blank behind it, in languages that put one there
_SYLLABLES_A_WORD: Final = 4  # Korean, the same
_FEWEST_CHARACTERS: Final = 40  # the same in Chinese and Japanese
_PAGES_OF_A_BOOK: Final = 100  # of so many a brief speaks that asks for a book, or whose people read one
_PAGE_AND_HALF: Final = re.compile(  # "A page and a half", "página y media": the rest of it is read as "1.5 pages"
    r"(?<!\w)(?:(?:an?|one|une|una|uma|een|één|eine) )?(page|página|pagina|bladzijde|Seite|stron[aęy]|страниц[аыу])"
    + HALF.pattern,
    re.IGNORECASE,
)
_AND_HALF: Final = re.compile(rf"{HALF.pattern}|半| ?반(?![가-힣])", re.IGNORECASE)
_FIXED: Final = {"word": 1, "norm": _WORDS_A_NORM_PAGE, "syllable": 1 / _SYLLABLES_A_WORD}  # words of one
_MOST_PARTS: Final = 1000
_NEAR: Final = 80  # characters on each side of a number that say what it is about
_PARTS_NEAR: Final = 200  # characters between a number of parts and the words of each


def _any(names: str) -> str:
    return "|".join(sorted(names.split(), key=len, reverse=True))


# What is counted ------------------------------------------------------------------------------------------------------

_WORD: Final = _any(
    "words word wörter wörtern worte worten wort mots mot palabras palabra palavras palavra parole parola woorden "
    "woord "
    "ord слова слов слово словами słów slov kata kelime kelimelik sözcük शब्द शब्दों كلمة كلمات מילים sanaa"
)
_WORD_EASTERN: Final = "个汉字|個漢字|个字|個字|汉字|漢字|文字|字|个词|词|語|単語|단어|คำ"
_LETTER: Final = _any(
    "characters zeichen signes caractères caracteres caratteri знаков tekens tecken tegn battute znaków anschläge "
    "anschlägen toques keystrokes"
)
_SYLLABLE: Final = r"글자|자(?=[\s,.로의이내를은정쯤짜씩가분])|자\Z"
_PAGE: Final = _any(
    "pages page seiten seite páginas página pagine pagina's pagina bladzijden sidor sider страниц страницы страница "
    "страницах страницу страничек sayfa stron strony strona stronach stronę pagina’s bladzijde पृष्ठ पन्ने صفحة صفحات"
)
_NORM_PAGE: Final = "Normseiten?|Standardseiten|feuillets?|cartell[ae]|znormalizowanych stron|stron znormalizowanych"
_SHEET: Final = r"(?:(?<=\d)|(?<=[한두세네섯곱덟홉열] ))[매장](?=\s?(?:분량|내외|정도|이내))"
_PAGE_EASTERN: Final = "页|頁|ページ|枚|페이지|쪽"
_PARTS: Final = {
    "chapter": _any(
        "chapters chapter kapitel kapiteln kapitels chapitres chapitre capítulos capítulo capitulos capitulo capitoli "
        "capitolo hoofdstukken hoofdstuk глав главы глава главах rozdziałów rozdziały rozdziałach rozdział bölüm bab "
        "अध्याय अध्यायों فصول فصل فصلا"
    ),
    "scene": _any(
        "scenes scene szenen szene scènes scène escenas escena cenas cena scene сцен сцены sceny scen scenach sahne "
        "مشاهد"
    ),
    "letter": _any(
        "letters letter briefe briefen brief lettres lettre cartas carta lettere lettera brieven listów listy "
        "listach писем письма письмах"
    ),
    "act": _any("acts act akte akten akt actes acte actos acto atos ato atti atto актов акта"),
    "entry": _any("entries entry einträge einträgen eintrag entrées entradas записей записи"),
    "episode": _any("episodes episode episoden épisodes épisode episodios episodio эпизодов"),
    "day": _any("days day mornings morning nights night"),
    "part": _any(
        "parts part sections section vignettes vignette pieces piece installments instalments books teile teilen teil "
        "abschnitte abschnitten abschnitt parties partie partes parte parti delen deel części część частей части часть"
    ),
}
_PARTS_EASTERN: Final = {
    "chapter": "개(?:의)? ?(?:장|챕터)|个章节|章节|章|챕터|장(?=[\\s,.으로의은이에마당])|话|話|บท",
    "scene": "个场景|场景|场|シーン|幕|장면",
    "letter": "封信|封|通の手紙|通|통(?=[\\s,.의])",
    "part": "个部分|部分|部|편(?=[\\s,.으로의은이])|부(?=[\\s,.로의는])",
}
_ALL_PARTS: Final = "|".join(_PARTS.values())
_ALL_EASTERN: Final = "|".join(_PARTS_EASTERN.values())
_BLANK: Final = r"[\s\u00a0\u202f]"
_FILLERS: Final = (
    r"(?:(?:or so|odd|or more|full|good|english|german|french|spanish|chinese|japanese|russian|de|di|a4|din[- ]?a4|"
    r"short|long|brief|"
    r"kurzen?|"
    r"courts?|cortos?|kleinen?|small|equal|numbered|connected|linked|diary|separate)[ -])?"
)
_COUNTED: Final = re.compile(
    rf"(?:ish\b)?{_BLANK}{{0,2}}[-‑–]?{_BLANK}?(?:{_FILLERS}(?:(?P<word>{_WORD})|(?P<letter>{_LETTER})|(?P<norm>{_NORM_PAGE})|"
    rf"(?P<page>{_PAGE})|"
    rf"(?P<part>{_ALL_PARTS}))(?![^\W\d_])|[余多来來]?(?:(?P<sheet>{_SHEET})|(?P<eword>{_WORD_EASTERN})|"
    rf"(?P<syllable>{_SYLLABLE})|"
    rf"(?P<epage>{_PAGE_EASTERN})|(?P<epart>{_ALL_EASTERN})))",
    re.IGNORECASE,
)

# What bounds it -------------------------------------------------------------------------------------------------------

_ABOUT: Final = (
    r"about|around|approximately|approx\.?|roughly|circa|ca\.?|c\.|some|nearly|almost|close to|~|≈|etwa|ungefähr|"
    r"rund|zirka|"
    r"gut|knapp|fast|environ|à peu près|quelque|près de|unas|unos|alrededor de|aproximadamente|cerca de|"
    r"más o menos|"
    r"cerca|circa|sulle|en torno a|um die|około|около|примерно|приблизительно|ongeveer|ungefär|"
    r"omkring|约|約|大约|大約|およそ|약|대략|ประมาณ|लगभग|"
    r"करीब|حوالي|نحو"
)
_LEAST: Final = (
    r"at least|at minimum|no (?:fewer|less) than|not (?:fewer|less) than|a minimum of|"
    r"mind\\.|minimal|nicht unter|ab|pas en dessous de|au-delà de|no menos de|a partir de|non meno di|come minimo|"
    r"al minimo|"
    r"oltre|não menos de|mínimo de|acima de|ten minste|niet minder dan|minimaal|meer dan|nie mniej niż|przynajmniej|"
    r"minimalnie|ponad|powyżej|свыше|хотя бы|от|不低于|起码|少なくとも|最低でも|最低|最小|적어도|최소한|"
    r"minimum(?: of)?|min\.?|over|co najmniej|"
    r"more than|"
    r"upwards? of|>=?|≥|mindestens|wenigstens|nicht weniger als|mehr als|über|au moins|au minimum|pas moins de|"
    r"plus de|"
    r"al menos|como mínimo|mínimo|por lo menos|más de|pelo menos|no mínimo|mais de|almeno|minimo|più di|minstens|"
    r"minst|"
    r"не менее|не меньше|минимум|более|больше|至少|不少于|不少於|最少|超过|최소|कम से कम|على الأقل"
)
_MOST: Final = (
    r"at most|at maximum|no (?:more|longer) than|not (?:(?:to )?be )?(?:more|longer) than|"
    r"not (?:to )?exceed(?:ing)?|"
    r"a maximum of|maximum(?: of)?|max\.?|under|below|shorter than|non oltre|niet meer dan|nie więcej niż|maksymalnie|"
    r"nicht über|bis|max\\.|ne pas dépasser|sans dépasser|sous|sin pasar de|no superar|no exceder(?: de)?|a lo sumo|"
    r"como mucho|al più|fino a|entro|sotto|non superare|senza superare|não passar de|não ultrapassar|não exceder|"
    r"menos de|abaixo de|máximo de|hooguit|ten hoogste|minder dan|niet langer dan|binnen|onder|tot|najwyżej|"
    r"co najwyżej|maksimum|poniżej|mniej niż|nie dłużej niż|nie przekraczając|меньше|не длиннее|в пределах|不多于|低于|"
    r"别超过|控制在|最長|多くても|上限|많아도|"
    r"que no pase de|up to|less than|fewer than|within|<=?|≤|höchstens|maximal|"
    r"nicht mehr als|nicht länger als|weniger als|unter|bis zu|au plus|au maximum|moins de|pas plus de|jusqu'à|"
    r"jusqu’à|"
    r"maximum de|como máximo|máximo|no más de|menos de|hasta|no máximo|até|não mais de|al massimo|massimo|meno di|"
    r"non più di|hoogstens|maximaal|högst|не более|не больше|максимум|до|менее|不超过|不要超过|不要超過|最大|不超過|"
    r"最多|至多|"
    r"不多于|少于|최대|"
    r"अधिकतम|ज़्यादा से ज़्यादा|لا يزيد عن|بحد أقصى"
)
_EXACTLY: Final = (
    r"exactly|precisely|genau|exakt|exactement|exactamente|exatamente|esattamente|precies|exact|dokładnie|równo|"
    r"ровно|точно|正好|恰好|刚好|ちょうど|"
    r"정확히"
)
_ARTICLES: Final = r"(?:of|the|a|an|von|de|d'|i|einer?|der|die|das|des|den|las?|los|le|les|una|un|as|os|gli)?"
_EASTERN: Final = r"\u3041-\u30ff\u4e00-\u9fff\uac00-\ud7a3"  # letters of scripts that put no blank between words
_BEFORE: Final = re.compile(
    rf"(?<![^\W{_EASTERN}])(?:(?P<exactly>{_EXACTLY})|(?P<least>{_LEAST})|(?P<most>{_MOST})|"
    rf"(?P<about>{_ABOUT}|每章|[各각]))[: ]{{0,2}}{_ARTICLES} ?\Z",
    re.IGNORECASE,
)
_AFTER: Final = re.compile(
    r"[ ,(]{0,2}(?:(?P<least>or (?:more|longer)|minimum|min\b|at (?:the )?(?:very )?least|mindestens|oder mehr|"
    r"und mehr|oder länger|au moins|ou plus|minimaal|ten minste|of meer|lub więcej|minimum|no mínimo|pelo menos|"
    r"come minimo|"
    r"minimo|o più|не меньше|и более|минимум|を超える|넘게|"
    r"au minimum|como mínimo|o más|al menos|ou mais|almeno|или больше|или более|как минимум|以上|起|이상|से अधिक|"
    r"على الأقل)|"
    r"(?P<most>or (?:less|fewer|under|below|shorter)|maximum|max\b|at (?:the )?(?:very )?most|tops|höchstens|"
    r"maximal|oder weniger|"
    r"au plus|au maximum|ou moins|como máximo|o menos|ou menos|no máximo|máximo|o meno|massimo|maximaal|hooguit|"
    r"of minder|ten hoogste|maksymalnie|najwyżej|lub mniej|"
    r"al massimo|не больше|и менее|или меньше|или менее|максимум|以内|"
    r"以內|以下|之内|"
    r"之內|"
    r"未満|まで|を超えない|내로|미만|[을를] 넘기?지|까지|이내|이하|से कम|كحد أقصى)|"
    r"(?P<exactly>exactly|precisely|genau|exakt|exact|exactement|pile|exactas|justas|esatte|exatas|precies|整|ちょうど)|"
    r"(?P<about>or so|or thereabouts|give or take|ungefähr|etwa|circa|ca\b|environ|à peu près|aproximadamente|"
    r"más o menos|mais ou menos|all['’]incirca|più o meno|ongeveer|około|mniej więcej|примерно|около|приблизительно))",
    re.IGNORECASE,
)
_TO: Final = re.compile(
    rf"-?{_BLANK}{{0,2}}(?:-|–|—|\.\.\.?|~|〜|～|to|and|or|until|bis(?: zu)?|und|oder|à|et|ou|a|y|o|hasta|até|e|alle|"
    rf"ai|agli|tot|"
    rf"en|till|do|i|lub|до|и|или|에서|부터|"
    rf"到|至|から|से|إلى)(?:{_BLANK}{{1,2}}(?:{_ABOUT}|the|die|den|le|les|las|los|i|as|os))?{_BLANK}{{0,2}}",
    re.IGNORECASE,
)

# Whose it is ----------------------------------------------------------------------------------------------------------

_EACH_AFTER: Final = re.compile(
    rf"[ ,(]{{0,2}}(?:(?:long|in length|lang|de long|de largo)[ ,]{{1,2}})?(?:each\b|apiece\b|"
    rf"(?:per|pro|par|por|a|an|(?:for |in |to |)(?:each|every)|to a|to the) (?:of them\b|one\b|{_ALL_PARTS})\b|"
    r"je\b|jeweils\b|in jedem\b|chacune?s?\b|pour chaque\b|(?:en )?cada\b|ciascun[oa]\b|ognun[oa]\b|"
    r"(?:в )?кажд|на глав|na rozdział|każd|ieder|elk\b|l['’]un[oa]\b|per stuk\b|ずつ|씩|her biri)",
    re.IGNORECASE,
)
_EACH_BEFORE: Final = re.compile(
    r"(?:\b(?:each|every|jedes|jede|jeder|jeweils|chaque|chacune?|cada|ogni|ciascuno|elk|elke|ieder|każd\w{1,3}|"
    r"кажд\w{2,3})\b"
    r"[^.,;:!?\n]{0,60}|\b(?:je|по|po|à) (?:\w{1,12} )?|(?:各|每)[^。；！？\n]{0,8}|一章[^。；！？\n]{0,6}|"
    r"(?:장당|장마다|각|"
    r"마다)[^.\n]{0,10})\Z",
    re.IGNORECASE,
)
_BOUNDS: Final = f"{_ABOUT}|{_LEAST}|{_MOST}|{_EXACTLY}"
_OF_PARTS: Final = re.compile(
    rf"[ ,]{{0,2}}(?:of|at|à|de|zu|von|di|da|van|по|po|x|×|\*|の|的|d['’]) ?(?:(?:{_BOUNDS}) ?)?(?:between|zwischen|"
    rf"entre|"
    rf"from)? ?",
    re.IGNORECASE,
)
_TIMES: Final = re.compile(r"\s?[x×*]\s?", re.IGNORECASE)
_ADJECTIVE: Final = re.compile(
    rf"(?:-long)?[ -](?:(?!in|per|of|for|and|to|by)\w{{2,12}} )?(?P<part>{_ALL_PARTS})(?![^\W\d_])", re.IGNORECASE
)
_IN_PARTS_OF: Final = re.compile(
    rf"\b(?P<part>{_ALL_PARTS})\b (?:of|at|à|de|zu|von|di|da|van|по|po|mit|with|met) [^.;:!?\n]{{0,12}}\Z",
    re.IGNORECASE,
)
_OF_PIECES: Final = re.compile(
    r"\b(?:paragraph|sentence|line|stanza|verse|absatz|satz|paragraphe|párrafo|абзац)", re.IGNORECASE
)
_IN_ALL: Final = re.compile(
    r"[ ,]{0,2}(?:in all|in total|altogether|all told|overall|total\b|insgesamt|in allem|au total|en tout|en total|"
    r"in totale|"
    r"всего|в сумме)",
    re.IGNORECASE,
)
_IN_ALL_BEFORE: Final = re.compile(
    rf"(?:in all|in total|altogether|total(?: of| length)?|insgesamt|zusammen|au total|en tout|en total|in totale|"
    rf"всего|全文|总共|共|"
    rf"全体で|総計|총)[: ]{{0,2}}(?:(?:{_ABOUT}) ?)?\Z",
    re.IGNORECASE,
)
_COUNT_SAID: Final = re.compile(
    rf"(?:\b(?:word ?count|number of words|word limit|words|length|wortzahl|länge|longueur|nombre de mots|"
    rf"umfang|extensión|extensão|lunghezza|lengte|woordental|omvang|długość|objętość|liczba słów|объ[её]м|слов|страниц)"
    rf"(?: is| of| should be| на)?\s{{0,2}}[:=]?\s{{1,2}}|"
    rf"(?:字数|字數|篇幅|文字数|分量|분량|단어|글자 수|长度)\s?[:：为是は]?\s?(?:{_MOST}|{_LEAST})?)"
    rf"(?:(?:{_ABOUT}) ?)?\Z",
    re.IGNORECASE,
)
_NOT_COUNTED: Final = re.compile(r"\s{0,2}(?!개)[^\W\d_]")  # "단어 900개"

# What is no length ----------------------------------------------------------------------------------------------------

_HELD: Final = _any(
    "letter telegram note message speech vocabulary dictionary lexicon essay article will list obituary email "
    "e-mail postcard "
    "poem sermon report contract confession sentence paragraph manuscript memo diary book passage page prologue "
    "epilogue "
    "interview advertisement ad song spell recipe postscript inscription suicide-note"
)
_HELD_ABROAD: Final = _any(
    "brief zettel nachricht rede telegramm testament lettre mot message discours télégramme carta nota mensaje "
    "discurso "
    "telegrama lettera biglietto messaggio discorso telegramma bilhete mensagem boodschap briefje toespraak list "
    "liście "
    "depesza wiadomość письмо записка записку письме речь телеграмма"
)
# Who knows, says, writes or keeps words speaks of those in the story; between it and the number stands little.
_OF_A_STORY: Final = (  # what "she" does with words where she may be the story
    r"soll|mu(?:ss|ß)|darf|ha[tbv]|umfass|w[ie]rd|kann\b|ist|sei|zähl|fai|fass|fera|doit|devr|compt|aur|tien|tend|peut|"
    r"comport|est|ait|deb|ten|teng|ha|ocup|pued|ser|é\b|dev|è\b|sia|abbia|tem|pod|moet|mag|heeft|telt|is\b|zal|"
    r"kan\b|ma\b|"
    r"mie|powinn|mus|będ|mo[gż]|licz|долж|буд|содерж|мож|составл"
)
_KNOWN_ABROAD: Final = re.compile(
    r"(?:\b(?:(?:er|sie|ils?|elles?|ella|él|lei|lui|ela|ele|hij|zij|ze|ona?|он|она) "
    rf"(?!{_OF_A_STORY})\w{{2,14}}|"
    r"kann (?:erst|nur|schon)|wei(?:ß|ss)|wusste|lernte?|spricht|sprach|sagte?|versteht|verstand|verga(?:ß|ss)|"
    r"schrieb|schickte?|hinterlie(?:ß|ss)|behielt|verlor|blieben|bleiben|schuldet|flüsterte?|sait|savait|apprend|"
    r"apprit|appris|parle|parlait|dit|comprend|oublia|laissa|laissé|envoya|murmura|écrivit|garda|garde|perdit|"
    r"restent|sab[eí]a?|conocía|aprend(?:e|ió)|habla|entiende|olvidó|dijo|dejó|envió|guard(?:a|ó)|perdió|quedan|"
    r"susurró|escribió|sa|sapeva|conosce(?:va)?|impar(?:a|ò)|parla|disse|capisce|dimentic(?:a|ò)|lasciò|perse|"
    r"restano|rimangono|scrisse|sussurrò|sabia|conhece|conhecia|aprendeu|fala|disse|esqueceu|deixou|guardou|perdeu|"
    r"restam|escreveu|kent|kende|weet|wist|leerde?|spreekt|sprak|zegt|zei|begrijpt|vergat|schreef|stuurde|bewaarde|"
    r"verloor|resten|zna|znał[ao]?|umie|nauczył[ao]?|mówi|powiedział[ao]?|rozumie|zapomniał[ao]?|pamięta|"
    r"napisał[ao]?|zostawił[ao]?|stracił[ao]?|zostało|знают?|знает|умеет|знал[аи]?|выучил[аи]?|говорит|сказал[аи]?|"
    r"понимает|забыл[аи]?|помнит|написал[аи]?|оставил[аи]?|потерял[аи]?|осталось|прошептал[аи]?)(?: (?:ihm|ihr|"
    r"ihnen|erst|nur|noch|gerade|kaum|etwa|lui|leur|seulement|encore|le|les|solo|apenas|sólo|todavía|solo|soltanto|"
    r"appena|ancora|só|ainda|slechts|maar|nog|alleen|haar|hem|tylko|zaledwie|jeszcze|się|mu|jej|только|лишь|всего|"
    r"ещё|ему|ей|и|nicht einmal|keine|même pas|pas|ni siquiera|neanche|nemmeno|nem|sequer|geen|ani|nawet)){0,2} |"
    r"[认認][得识識]|学会了?|學會了?|[记記]得|会[写說说]|"
    r"[说說写寫念读讀]了|留下了?|[懂背只]|覚えた|話した)\Z",
    re.IGNORECASE,
)
_PAGES_OF_THEIRS: Final = 20  # of so many a brief also speaks that says what somebody in the story reads or burns
_THEIR_PAGES: Final = re.compile(
    r"(?:\b(?:writes|wrote|burn(?:s|ed|t)|finds|found|reads?|los(?:es|t)|steals|stole|finish(?:es|ed)|publish(?:es|ed)|"
    r"receive[ds]|schreibt|schrieb|verbr[ae]nnte?|findet|fand|liest|las|verliert|verlor|stiehlt|stahl|erhält|écrit|"
    r"écrivit|brûle|trouve|lit|lut|perd|vole|publie|reçoit|escribió|quema|encuentra|lee|leyó|pierde|roba|publica|recibe|"
    r"scrive|scrisse|brucia|trova|legge|perde|ruba|pubblica|riceve|escreveu|queima|encontra|lê|rouba|recebe|"
    r"schrijft|schreef|verbrandt|vindt|vond|leest|verliest|steelt|krijgt|pisze|napisał[ao]?|pali|znajduje|czyta|gubi|"
    r"kradnie|dostaje|пишет|написала?|сжигает|находит|читает|теряет|крад[её]т|получает)(?: [^\s.,;:!?]{1,12}){1,4}"
    r"|(?:烧|燒|读|讀|写|寫|偷|捡|撿|找)[了到掉完过過]{1,2}[^，。；！？\n]{0,6})[ -]?\Z",
    re.IGNORECASE,
)
_UNKNOWN_AFTER: Final = re.compile(  # "四十字しか知らない", "단어 40개를 안다"
    r"(?:を|は|だけ|しか|の言葉を)[^。、\n]{0,6}(?:知|覚|忘|残|話せ|読め|書け|言)|개?(?:를|을|만|밖에|도)[^.,\n]{0,6}(?:안다|알|모[르른]|배웠|외[우웠]|남[기겼]|말했|썼)"
)
_TOLD_TO_WRITE: Final = re.compile(
    r"(?:\A|[.!?:;\n]\s{0,3}|\b(?:please|you|to|me|us)\s)(?:[^\s.!?]{1,12} )?(?:write|draft|compose|give me|"
    r"produce|"
    r"create|tell|pen|"
    r"want|need|schreib\w{0,3}|écri\w{1,4}|rédige\w{0,2}|escrib\w{1,3}|scriv\w{1,3}|напиши\w{0,2})"
    r"(?: (?!with|about|in|of|for|that|who|and|where|which)[^\s.!?;]{1,14}){0,5} ?\Z|"
    r"\A(?:(?:an?|one|eine?|une?|una)(?: [^\s.!?;…]{1,12}){0,2} ?)?\Z",
    re.IGNORECASE,
)
_HOLDS: Final = re.compile(
    rf"\b(?:{_HELD}|{_HELD_ABROAD}),? (?:de|von|mit|aus|di|da|van|met|z|na|из|на|of|with|in|containing|that has|has|"
    rf"at|is|was)\b[^.!?;\n]{{0,16}}\Z",
    re.IGNORECASE,
)
_HELD_AFTER: Final = re.compile(rf"(?:-long)?[ -](?:\w{{2,14}} )?(?:{_HELD})\b", re.IGNORECASE)
_FACT_BEFORE: Final = re.compile(
    r"\b(?:(?:knows?|knew|speaks?|spoke|says?|said|learn(?:s|ed|t)?|typed?|types|understands?|understood|reads?|"
    r"counts?|counted|"
    r"memori[sz](?:es?|ed)|whispers?|whispered|deletes?|deleted|copies|copied|lost|burn(?:s|ed|t)|forg[eo]t(?:s|"
    r"ten)?|remembers?|"
    r"translates?|translated|pays?|paid|sells?|sold|cuts?)(?: (?:only|just|him|her|them|out|some|about|exactly))?|"
    r"(?:he|she|they|who|whom)(?: [^\s.,;:!?]{1,12}){1,3}|(?:her|his|their|its|my|those|these|last|first|"
    r"final|next|"
    r"few|same)|kennt|spricht|sprach|weiß|ihre|seine|letzten|connaît|ses|ces|derniers|dernières|sus|últimas|"
    r"conoce|sabe|знает|свои|последние)"
    r" (?:(?:the|only|just|last|first|some|about|exactly) ){0,2}\Z",
    re.IGNORECASE,
)
_DEFINITE: Final = re.compile(
    r"(?<!\btra )(?<!\bfra )(?<!\bentre )(?<!\bdans )(?<!\bsobre )"
    r"\b(?:the|die|der|den|les|las|le|el) (?:(?:last|first|final|next|few|other) )?\Z",
    re.IGNORECASE,
)
_UP_TO_IN_POLISH: Final = re.compile(r"(?<!\w)do \s?(?:słów|stron|znaków)", re.IGNORECASE)
_LIMITS: Final = ("limit", "límite", "limite", "limiet", "obergrenze", "лимит", "上限", "제한")
_LIMIT: Final = re.compile(r"[ -](?:limit|cap)\b", re.IGNORECASE)
_FACT_AFTER: Final = re.compile(
    r"(?:詰め| (?:that|which|who|whom|whose)\b(?! (?:should|must|will|is|are|can|could|needs?|would|you))|"
    r" (?:she|he|they|we|i|it) |(?: a| an| per|/)[ ]?(?:day|minute|min|hour|second|night|week|month|year|page|side|"
    r"breath|line)s?\b|"
    r" (?:left|later|ago|wide|apart|into|deep|old|away|behind|before the|under her|for (?:snow|love|rain|water))\b|"
    r" of (?!(?:prose|text|fiction|story|dialogue|narrative|narration|literary|length|material|about|between|pure|"
    r"good|horror|"
    r"fantasy|comedy|romance|suspense|your|continuous|english|science|the story|verse))|"
    r",? (?:die|der|das|den) (?:sie|er|ihm|ihr|man|ich|wir)\b|,? (?:qu['’]|que |dont )|,? que (?:ella|él|"
    r"le)|,? котор|"
    r" (?:am|pro|par|al|por|в|на) (?:tag|stunde|minute|jour|día|dia|день|час|минут))",
    re.IGNORECASE,
)
_OF_A_KIND: Final = re.compile(
    r" of (?!(?:the|an?|his|her|its|their|this|that|these|those|which|what)\b)", re.IGNORECASE
)  # "write 900 words of plain realism"
_PAGES_MEANT: Final = re.compile(
    r"[ -]?(?:long\b|short\b|story|tale|narrative|novel|novella|thriller|mystery|play\b|screenplay|script|romance|"
    r"comedy|drama|"
    r"saga|epic|fairy|piece|in length|of (?:text|prose)|about\b|über\b|sur\b|sobre\b|lang\b|geschichte|erzählung|"
    r"roman|récit|nouvelle|conte|relato|cuento|"
    r"novela|racconto|повест|рассказ|роман|の小説|の物語|的?小说|的?故事|분량|程度|くらい|ぐらい|ほど|以[内上下]|정도|내외|이내|가량|"
    r"(?:on|with|over|su|sull?a?|sul|met|mit|avec|con|com|o|ob?|z|про|об?|с|à propos|acerca)\b)|"
    r"\s{0,2}(?:[.;,!)。，、]|"
    r"\Z)",
    re.IGNORECASE,
)
_PAGES_LED: Final = re.compile(
    r"(?:\b(?:be|is|length|length:|of|runs?|running|run to|to|fill|write|long|cover|about|around|auf|von|umfasst|"
    r"haben|de|di|da|van|na|из|z|o|em|su|with|for|haben|en|sur|"
    r"sea|tenga|schreib\w{0,2}|на|w|A4)\W{1,2}|[,;.:(\n]\s{0,2}|\A|[的写篇用紙])(?:between|from|zwischen|entre)?\W{0,2}"
    r"(?:(?:an?|une?|una|uma|eine?|een|just|only) ?)?\Z",
    re.IGNORECASE,
)
_PAGES_STORY: Final = re.compile(
    r"[ -](?:long|story|short story|tale|narrative|in length|novel|novella|thriller|mystery|screenplay|romance|"
    r"drama|saga|fable|vignette|sketch|"
    r"comedy|(?:\w{2,12} ){1,2}(?:story|tale|novel|novella|thriller|mystery|romance))\b",
    re.IGNORECASE,
)
_PARTS_ASKED: Final = re.compile(
    r"(?:\b(?:in|into|of|has|have|with|write|over|across|want|need|span|spans|spanning|be|through|zu|mit|"
    r"aus|hat|en|"
    r"avec|con|de|di|из|в|tem|"
    r"com|schreib\w{0,2}|écri\w{1,4}|escrib\w{1,3}|divided into|composed of|structure:?|chapters:?)|\A|"
    r"[,;.:(\n]|分为|"
    r"分成|分|共|有|写|全|、|。)"
    r"\s{0,2}(?:(?:exactly|about|the|genau|etwa|around) )?\Z",
    re.IGNORECASE,
)
_BOOK: Final = re.compile(
    r"stor(?:y|ia)\b|\btale\b|novel|roman|saga|epic|epos|epop|\bbook\b|geschichte|erzählung|krimi|thriller|myster|"
    r"récit|histoire|relato|história|racconto|\blibro\b|\blivr[eo]\b|\bbuch\b|verhaal|\bboek\b|powieś|opowie|книг|"
    r"повест|рассказ|истори|小[說说説]|物語|소설",
    re.IGNORECASE,
)
_HUNDREDS: Final = re.compile(r"\d{3}|\d[\d.,\s]{3}")
_IN_CHARACTERS: Final = re.compile(
    r"\b(?:chinese|mandarin|cantonese|japanese)\b|[\u3041-\u30ff\u4e00-\u9fff]{3}", re.IGNORECASE
)
_PARTS_OF: Final = re.compile(
    r" (?:of (?:the|a|an|his|her|their|my|which|genesis|it)\b|ago\b|later\b|left\b|aus der|de la |"
    r"du )",
    re.IGNORECASE,
)


# Reading --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PartsAsked:
    """How many parts a brief asks for (0 where it does not say), what they are, and how long each must be."""

    count: int
    kind: str
    each: Length | None = None


@dataclass(frozen=True, slots=True)
class LengthsAsked:
    """What a brief says about length: of the whole, of the parts, and what no story can have.

    Attributes:
        whole: the words of the story, computed from its parts where only theirs are said.
        parts: its chapters, scenes or letters.
        too_many: a number of words that is larger than any story's.
        impossible: such a number, or that of no words, as the brief has it.
        backwards: a range whose first number is the larger one, as the brief has it, and its line; if it gives no other
            length.
    """

    whole: Length | None
    parts: PartsAsked | None
    too_many: int | None = None
    impossible: str = ""
    backwards: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class _Part:
    count: int
    kind: str
    start: int
    end: int
    asked: bool


@dataclass(frozen=True, slots=True)
class _Measure:
    """A number of words in a brief; `start` and `end` are those of the number with its unit."""

    length: Length
    start: int
    end: int
    each: bool = False
    total: bool = False
    part: _Part | None = None
    pages: bool = False


def lengths_asked(text: str) -> LengthsAsked:
    """What `text`, a brief, says about the length of its story."""
    return of_text("lengths", text, lambda asked: _Reader(asked).read())


class _Reader:
    """A brief being read."""

    def __init__(self, text: str) -> None:
        self.text = text = _PAGE_AND_HALF.sub(r"1.5 \1", text)
        self.numbers = numbers_in(text)
        self.eastern = bool(_IN_CHARACTERS.search(text))
        self.of_a_book = bool(_BOOK.search(text))
        self.parts: list[_Part] = []
        self.measures: list[_Measure] = []
        self.impossible: list[tuple[int, str]] = []
        self.backwards: tuple[str, int] | None = None

    def read(self) -> LengthsAsked:
        counted = [_COUNTED.match(self.text, number.end) for number in self.numbers]
        for number, unit in zip(self.numbers, counted, strict=True):
            if unit and (part := _kind_of(unit)) and 1 < number.value <= _MOST_PARTS and number.value % 1 == 0:
                self.parts.append(self._part(number, unit, part))
        for at, unit in enumerate(counted):
            self._measure(at, unit)
        whole, parts = self._whole()
        fits = not self.measures
        large = max((words for words, _ in self.impossible), default=0)
        if whole is None and parts is not None and parts.each is not None:
            large = max(large, parts.each[2] * parts.count)  # each can be written, and all of them cannot
        return LengthsAsked(
            whole,
            parts,
            large if whole is None and large > LARGEST else None,
            self.impossible[0][1] if fits and self.impossible else "",
            self.backwards if fits else None,
        )

    def _part(self, number: Number, unit: re.Match[str], kind: str) -> _Part:
        before = self._before(number.start)
        asked = kind != "day" and bool(_PARTS_ASKED.search(before)) and not _PARTS_OF.match(self.text, unit.end())
        return _Part(int(number.value), kind, number.start, unit.end(), asked)

    def _before(self, start: int) -> str:
        """What stands before `start`, as far as it matters; it begins with an ellipsis where there is more."""
        first = max(start - _NEAR, 0)
        return ("…" if first else "") + self.text[first:start]

    def _measure(self, at: int, unit: re.Match[str] | None) -> None:
        """Record the number of words that the number at `at` is, if it is one."""
        number, start = self.numbers[at], self.numbers[at].start
        low, high = number.low or number.value, number.value
        end = unit.end() if unit else number.end
        if unit and _kind_of(unit):
            return
        if unit and (unit["page"] or unit["epage"]) and (half := _AND_HALF.match(self.text, end)):
            low, high, end = low + 0.5, high + 0.5, half.end()
        ranged = bool(number.low)
        if at and (first := self._first_of_range(at)) is not None:
            low, start, ranged = first, self.numbers[at - 1].start, True
        split = self._glued(number, unit)
        if split:
            low = high = split[1]
        before = self._before(start)
        if unit is None and not self._counts(before, end):
            return
        factor = self._factor(number, unit, start, end)
        if factor is None:
            return
        bounded = _BEFORE.search(before)
        after = _AFTER.match(self.text, end)
        begins = before[: bounded.start()] if bounded else before
        each = _EACH_BEFORE.search(before)
        if self._is_fact(begins, end) or (each and _OF_PIECES.search(each[0])):
            return
        limit = _LIMIT.match(self.text, end) or before.casefold().rstrip(": ").endswith(_LIMITS)
        limit = limit or _up_to_in_polish(before, unit)
        bound: Bound = "range" if ranged else "most" if limit else _bound(bounded, after)
        length = (bound, int(low * factor), int(high * factor))
        self._add(
            at, length, start, after.end() if after else end, split, pages=factor in {WORDS_A_PAGE, _WORDS_A_NORM_PAGE}
        )

    def _add(
        self, at: int, length: Length, start: int, end: int, split: tuple[int, float] | None, *, pages: bool
    ) -> None:
        if not 0 < length[2] <= LARGEST:
            self.impossible.append((length[2], self.text[start:end]))
        if length[1] > length[2] >= SMALLEST:
            self.backwards = self.text[start:end], self.text.count("\n", 0, start) + 1
        if not SMALLEST <= length[1] <= length[2] <= LARGEST:
            return
        if self.measures and self.measures[-1].end > start:
            self.measures.pop()  # "500 words to 600 words": the range is meant
        before = self._before(start)
        total = bool(_IN_ALL.match(self.text, end) or _IN_ALL_BEFORE.search(before))
        part = _Part(split[0], "part", start, end, asked=True) if split else self._part_of(at, start, end)
        each = part is not None or bool(_EACH_AFTER.match(self.text, end) or _EACH_BEFORE.search(before))
        self.measures.append(_Measure(length, start, end, each and not total, total, part, pages))

    def _first_of_range(self, at: int) -> float | None:
        """The number before the one at `at`, if both are the borders of a range."""
        first, last = self.numbers[at - 1], self.numbers[at]
        unit = _COUNTED.match(self.text, first.end)
        begins = unit.end() if unit and not _kind_of(unit) and unit.end() <= last.start else first.end
        if last.start - begins > _NEAR or not _TO.fullmatch(self.text, begins, last.start):
            return None
        low = first.value
        if last.scaled and low < last.value / 100:
            low *= 1000  # "1-2k words", "two to three thousand words"
        return low if low >= SMALLEST or last.value <= SMALLEST * low else None

    def _glued(self, number: Number, unit: re.Match[str] | None) -> tuple[int, float] | None:
        """Parts and the words of each in "10 300-word scenes", whose digits look like one number."""
        said = self.text[number.start : number.end]
        if " " not in said or not unit or "-" not in unit[0] or not _ADJECTIVE.match(self.text, unit.end()):
            return None
        count, _, words = said.partition(" ")
        return (int(count), float(words)) if count.isdecimal() and words.isdecimal() else None

    def _counts(self, before: str, end: int) -> bool:
        """Whether a number without a unit is one of words: "Word count: 500", or "20,000 in all" behind others."""
        if self.measures and _IN_ALL.match(self.text, end):
            return True
        return bool(_COUNT_SAID.search(before)) and not _NOT_COUNTED.match(self.text, end)

    def _factor(self, number: Number, unit: re.Match[str] | None, start: int, end: int) -> float | None:
        """How many words one of what is counted makes; `None` if it measures no text."""
        known = 1 if unit is None else next((words for name, words in _FIXED.items() if unit[name]), 0)
        if unit is None or known:
            return known
        if unit["eword"]:
            few = self.eastern and number.value < _FEWEST_CHARACTERS  # a poem of 31 syllables
            return None if few else 1 / _SYLLABLES_A_WORD if unit["eword"] == "글자" else 1
        if unit["letter"]:
            people = not self.eastern and not _HUNDREDS.match(self.text, start)  # "30 characters"
            return None if people else 1 if self.eastern else 1 / _LETTERS_A_WORD
        before = self._before(start)
        if number.value >= _PAGES_OF_THEIRS and _THEIR_PAGES.search(before):
            return None
        if unit["sheet"]:
            kind = before.rstrip()[-3:]
            return _WORDS_A_SHEET if kind == "원고지" else WORDS_A_PAGE if kind.endswith("A4") else None
        bounded = _PAGES_LED.search(before) or _BEFORE.search(before) or _up_to_in_polish(before, unit)
        led = bounded and (_AFTER.match(self.text, end) or _PAGES_MEANT.match(self.text, end))
        if led and number.value >= _PAGES_OF_A_BOOK and before.rstrip()[-1:].isalpha() and not self.of_a_book:
            led = None  # "he finds a diary of 400 pages"
        return WORDS_A_PAGE if led or _PAGES_STORY.match(self.text, end) else None

    def _is_fact(self, before: str, end: int) -> bool:
        """Whether words are spoken of that stand in the story, and not its own."""
        if _LIMIT.match(self.text, end) or (_OF_A_KIND.match(self.text, end) and _TOLD_TO_WRITE.search(before)):
            return False
        if _FACT_AFTER.match(self.text, end) or _DEFINITE.search(before) or _FACT_BEFORE.search(before):
            return True
        if _UNKNOWN_AFTER.match(self.text, end) or _KNOWN_ABROAD.search(before):
            return True
        held = _HOLDS.search(before)
        if held is None and not _HELD_AFTER.match(self.text, end):
            return False
        return not _TOLD_TO_WRITE.search(before[: held.start()] if held else before)

    def _part_of(self, at: int, start: int, end: int) -> _Part | None:
        """The parts that these words are those of, as in "ten 2,000-word chapters" or "10 x 2,000 words"."""
        before, behind = self._beside(start)
        if before and _OF_PARTS.fullmatch(self.text, before.end, start):
            return before
        if behind and end <= behind.start and _TIMES.fullmatch(self.text, end, behind.start):
            return behind
        noun = _ADJECTIVE.match(self.text, end)
        led = _IN_PARTS_OF.search(self._before(start))
        if led and not led["part"].casefold().endswith(("s", "n", "i")):
            led = None  # "a letter of 500 words"
        first = self.numbers[at - 1] if at else None
        counted = first is not None and self.text[first.end : start].strip(" -") in {"", "x", "×", "*"}
        if first and counted and (noun or self.text[first.end : start].strip()):
            return _Part(int(first.value), _part_kind(noun["part"]) if noun else "part", first.start, end, asked=True)
        named = noun if noun and noun["part"].endswith("s") else led
        if named:
            return self._nearest(start) or _Part(0, _part_kind(named["part"]), start, end, asked=True)
        return None

    def _nearest(self, start: int) -> _Part | None:
        before, behind = self._beside(start)
        return before if before and start - before.end <= _PARTS_NEAR else behind

    def _beside(self, start: int) -> tuple[_Part | None, _Part | None]:
        """The last parts before `start`, and the first behind it."""
        at = bisect_right(self.parts, start, key=lambda part: part.end)
        behind = bisect_left(self.parts, start, key=lambda part: part.start)
        return self.parts[at - 1] if at else None, self.parts[behind] if behind < len(self.parts) else None

    def _whole(self) -> tuple[Length | None, PartsAsked | None]:
        """The words of the whole story, and its parts."""
        whole_ones = [one for one in self.measures if not one.each and not one.total]
        stated = [one.length for one in whole_ones if not one.pages] or [one.length for one in whole_ones]
        totals = [one.length for one in self.measures if one.total]
        each = max((one for one in self.measures if one.each), key=lambda one: one.length[2], default=None)
        part = (each.part or self._nearest(each.start)) if each else None
        if part is None:
            part = next((one for one in self.parts if one.asked), None)
        whole = totals[0] if totals else _largest(stated)
        if each is None:
            return whole, PartsAsked(part.count, part.kind) if part else None
        bound, low, high = each.length
        count = part.count if part else 0
        if count and high * count <= LARGEST and not totals and (whole is None or 2 * whole[2] < high * count):
            whole = bound, low * count, high * count
        elif whole is not None and not count and whole[2] > high:
            count = round((whole[1] + whole[2]) / (low + high))
        return (whole if whole is None or whole[2] > high or count else None), PartsAsked(
            count, part.kind if part else "part", each.length
        )


def _up_to_in_polish(before: str, unit: re.Match[str] | None) -> bool:
    return bool(unit and _UP_TO_IN_POLISH.search(f"{before[-4:]}{unit[0]}"))


def _kind_of(unit: re.Match[str]) -> str:
    """What parts a unit counts; empty if it counts words or pages."""
    name = unit["part"] or unit["epart"]
    return _part_kind(name) if name else ""


def _part_kind(name: str) -> str:
    for kind, names in (*_PARTS.items(), *_PARTS_EASTERN.items()):
        if re.fullmatch(re.sub(r"\(\?=[^()]{1,40}\)", "", names), name, re.IGNORECASE):
            return kind
    return "part"


def _largest(lengths: list[Length]) -> Length | None:
    """The story's length among those that a brief names: the largest, since the others are about parts of it."""
    if not lengths:
        return None
    bound, low, high = max(lengths, key=lambda length: length[2])
    least = [other[1] for other in lengths if other[0] == "least" and other[1] <= high]
    return ("range", max(least), high) if bound == "most" and least else (bound, low, high)


def _bound(before: re.Match[str] | None, after: re.Match[str] | None) -> Bound:
    said = {name for found in (before, after) if found for name, text in found.groupdict().items() if text}
    bounds: tuple[Bound, ...] = ("exactly", "least", "most")
    return next((bound for bound in bounds if bound in said), "about")

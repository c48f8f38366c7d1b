"""A character's turn in a reply, and checks whether it repeats an earlier turn, leaves the play, or says a word."""

# ruff: noqa: RUF001 - titles, brackets and colons of other scripts

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MARKS: Final = " \t*_>#-•"
_ASIDE: Final = r"(?:[ \t]*[(\[（［【][^)\]）］】\n]{1,60}[)\]）］】])?"
# What stands before a name, with an article or without one, and what stands behind it.
_TITLES: Final = (
    r"Mr|Mrs|Ms|Miss|Mister|Sir|Lady|Lord|Dame|Dr|Doctor|Prof|Professor|Captain|Colonel|General|Major|Sergeant|Officer|"
    r"Inspector|Detective|Father|Mother|Brother|Sister|Reverend|Nurse|Judge|Old|Young|Aunt|Auntie|Uncle|Cousin|King|Queen|"
    r"Prince|Princess|Great-aunt|Grandma|Grandpa|Granny|Gran|Grandmother|Grandfather|Herrn?|Frau|Fräulein|Doktor|Professorin|Tante|"
    r"Onkel|Oma|Opa|Alten?|Gro(?:ß|ss)mutter|Gro(?:ß|ss)vater|Mutter|Vater|Schwester|Bruder|Pater|Pfarrer|Hauptmann|Kommissarin?|"
    r"Königin|König|Prinz|Prinzessin|Cousine?|M|Me|Mme|Mlle|Monsieur|Madame|Mademoiselle|Ma[îi]tre|Docteur|Professeure?|"
    r"Oncle|Tonton|Tata|Mamie|M[ée]m[ée]|P[ée]p[ée]|Vieux|Vieille|Papi|Papy|Père|Mère|Sœur|Frère|Capitaine|Commissaire|Inspecteur|Grand-mère|Grand-père|Roi|Reine|"
    r"Sr|Sra|Srta|Señora?|Señorita|Don|Doña|Doctora?|Profesora?|T[íi][oa]|Abuel[oa]|Viej[oa]|Padre|Madre|Hermano|Hermana|Capitán|"
    r"Comisari[oa]|Inspectora?|Re[iy]|Reina|Sig(?:\.r?n?a)?|Signora?|Signorina|Dott(?:\.ssa)?|Dottor|Dottoressa|Dottore|"
    r"Professore|Professoressa|Avvocato|Avvocata|Ingegnere?|Zi[oa]|Vecchi[oa]|Nonn[oa]|Suora?|Fra|Fratello|Sorella|Capitano|"
    r"Commissario|Maestr[oa]|Senhora?|Dom|Dona|Doutora?|Drª|Velh[oa]|Professora?|Seu|Menina|Av[ôó]|Vov[ôó]|Irmão?|Irmã|Padrinho|"
    r"Capitão|Delegad[oa]|Meneer|Mijnheer|Oude|Mevrouw|Dhr|Mevr|Mw|Dokter|Oom|Juffrouw|Juf|Meester|Broer|Zus|Zuster|Moeder|"
    r"Kapitein|Inspecteur|Koning|Koningin|Pan|Pani|Panna|Do[ck]tora?|Profesor|Ciocia|Ciotka|Wuj|Wujek|Stryj|Babcia|Star[ya]|"
    r"Dziadek|Ks|Ksiądz|Ojciec|Matka|Siostra|Brat|Kapitan|Komisarz|Inspektor|Królowa|Król|Господин|Госпожа|Г-н|Г-жа|"
    r"Доктор|Профессор|Товарищ|Д-р|Дядя|Дядюшка|Т[её]тя|Т[её]тушка|Стар(?:ый|ая)|Бабушка|Бабуля|Баба|Дедушка|Дед|Отец|Мать|Сестра|"
    r"Брат|Капитан|Майор|Полковник|Инспектор|Следователь|Царь|Царица|Князь|Княгиня|Граф|Графиня"
)
_ARTICLES: Final = r"(?:(?:the|der|die|la|le|el|il|lo|o|a|de|het) |l['’] ?)"
_HONOUR: Final = (
    r"先生|女士|小姐|太太|夫人|老师|老師|医生|醫生|大夫|博士|教授|师傅|師傅|师父|師父|经理|經理|老板|老闆|校长|校長|队长|隊長|警官|同学|同學|"
    r"姑娘|阿姨|叔叔|伯伯|奶奶|爷爷|爺爺|[大二三小]?[哥姐姨叔婶嬸嫂]|妈妈?|爸爸?|总|总监|さん|くん|君|ちゃん|様|さま|殿|氏|先輩|部長|課長|社長|"
    r"店長|刑事|警部|医師|せんせい|씨|선생|박사|교수|형사|기자|할머니|할아버지|아저씨|아주머니|아줌마|이모|삼촌|고모|누나|언니|오빠|형|군|양|"
    r"[가-힣]{0,4}님"
)
_TITLE: Final = re.compile(rf"(?:{_TITLES})\.?", re.IGNORECASE)
_EASTERN_NAME: Final = re.compile(r"[\u3041-\u30ff\u4e00-\u9fff]{2,5}|[\uac00-\ud7a3]{2,4}")
_MODEL: Final = re.compile(
    r"\b(?:as an? (?:ai\b|language model|assistant|large language)|i(?:['\u2019]m| am) (?:just |only )?an? (?:ai\b|"
    r"language model|virtual assistant)|openai|chatgpt|my training data)",
    re.IGNORECASE,
)
_SORRY: Final = re.compile(
    r"\A\W*(?:i(?:['\u2019]m| am) (?:very |so )?sorry|i apologi[sz]e|apologies)\b.{0,60}\b(?:confusion|assist|request|"
    r"role[- ]?play|character|script|conversation)\b",
    re.IGNORECASE | re.DOTALL,
)
_STAGE: Final = re.compile(
    r"\b(?:the director(?:['\u2019]s)? (?:guidance|instructions?|notes?)|(?:my|the|this|next) (?:script|dialogue) "
    r"lines?|(?:stay|remain|staying) in character|(?:this|the) role[- ]?play|(?:the|your) prompt)\b",
    re.IGNORECASE,
)
# How what the patterns above find may begin, at the end of a text that goes on.
_LEAVING: Final = re.compile(
    r"\b(?:as(?: an?(?: large)?)?|i(?:['\u2019]m| am)?(?: just| only| very| so)?(?: an?)?|my(?: training)?|"
    r"stay|remain|staying|(?:the|this|next|my)(?: director(?:['\u2019]s)?| script| dialogue| role)?|"
    r"(?:stay|remain|staying) in|your|(?:as an?|(?:i['\u2019]m|i am)(?: just| only)? an?) (?:language|virtual)|"
    r"open|chat)\Z",
    re.IGNORECASE,
)
_APOLOGY: Final = re.compile(
    r"\A\W*(?:i(?:['\u2019]m| am) (?:very |so )?sorry|i apologi[sz]e|apologies)\b", re.IGNORECASE
)
_OPENING, _SORRY_LETTERS = 48, 120  # letters of a turn in which it leaves its part, and by which an apology is judged


def read_turn(text: str, name: str, others: Sequence[str], *, whole: bool = False) -> str:
    """The turn of `name` in a reply, without the name before it; possibly empty.

    Everything from the first turn of another speaker on is left out.

    Args:
        text: the reply.
        name: the name of the speaker.
        others: the names of others who may speak in the reply.
        whole: whether to return all lines of the turn; otherwise only the first, the useful part of a small model's
            reply.
    """
    own = _label(called(name))
    foreign = _label([other for other in others if other.casefold() != name.casefold()])
    turn: list[str] = []
    for raw in text.splitlines():
        line = raw.strip().lstrip(_MARKS)
        if foreign is not None and foreign.match(line):
            break
        said = own.sub("", line, count=1).strip() if own is not None else line
        if said.strip(_MARKS):
            turn.append(said if said != line or not (turn or whole) else raw.strip())
            if not whole:
                break
        elif turn:
            turn.append("")
    return "\n".join(turn).strip()


def _label(names: Sequence[str]) -> re.Pattern[str] | None:
    """What stands before a speech of one of `names`."""
    known = named(names)
    return re.compile(rf"[*_]*{known}[*_]*{_ASIDE}[*_]*[ \t]*[:：][*_]*[ \t]*", re.IGNORECASE) if known else None


def called(name: str) -> tuple[str, ...]:
    """What may stand for a name before its bearer's speech: the name itself, and each of its parts but titles.

    The parts of an East Asian name, which no blank divides, are what it may begin and end with, of two signs or more.
    """
    if _EASTERN_NAME.fullmatch(name):
        parts = [name[:at] for at in range(2, len(name))] + [name[-at:] for at in range(2, len(name))]
    else:
        parts = [part for part in name.split() if not _TITLE.fullmatch(part)] if " " in name.strip() else []
    return (name, *parts)


def named(names: Iterable[str]) -> str:
    """A pattern for one of `names`, with titles before it or behind it or without one; empty for no names.

    A family name of one sign stands there only with a title.
    """
    every = {name for name in names if name.strip()}
    known = "|".join(sorted(map(re.escape, every), key=len, reverse=True))
    first = "".join(sorted({name[0] for name in every if _EASTERN_NAME.fullmatch(name)}))
    short = rf"|[老小阿]?[{first}](?=[ \t]?(?:{_HONOUR}))|[老小阿][{first}](?![\w])" if first else ""
    before = rf"(?:{_ARTICLES}?(?:(?:{_TITLES})(?:\.ª? ?| )){{1,3}})?"
    return rf"{before}(?:{known}{short})[ \t]?(?:{_HONOUR})?" if known else ""


def leaves_part(text: str) -> bool:
    """Whether a turn speaks as a model or about the play, instead of as the character."""
    return bool(_MODEL.search(text) or _SORRY.match(text) or _STAGE.search(text))


def leaves_at(text: str, *, coming: bool = False) -> int | None:
    """Where a turn leaves its part in its first words; with `coming`, also where it may turn out to do so."""
    if _SORRY.match(text):
        return 0
    if coming and len(text) < _SORRY_LETTERS and _APOLOGY.match(text):
        return 0
    found = [match.start() for pattern in (_MODEL, _STAGE) if (match := pattern.search(text))]
    if coming and (open_ := _LEAVING.search(text[-_OPENING:])):
        found.append(max(len(text) - _OPENING, 0) + open_.start())
    first = min(found, default=_OPENING)
    return first if first < _OPENING else None


def repeats_earlier(text: str, earlier: Iterable[str], threshold: float) -> bool:
    """Whether the similarity of `text` to one of `earlier`, by Levenshtein distance, exceeds `threshold` (0 to 1)."""
    from rapidfuzz.distance import Levenshtein  # noqa: PLC0415 - needed by one system alone

    said = text.casefold()
    return any(Levenshtein.normalized_similarity(said, other.casefold()) > threshold for other in earlier)


def says(text: str, word: str) -> bool:
    """Whether `word` (or a run of words) occurs in a text as a whole word, ignoring case."""
    wanted = " ".join(word.split())
    alone = re.compile(rf"(?<!\w){re.escape(wanted)}(?!\w)", re.IGNORECASE)
    return bool(wanted) and alone.search(" ".join(text.split())) is not None

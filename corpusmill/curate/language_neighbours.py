"""Languages so close that models of letter sequences confuse them, told apart by their words.

Bosnian, Croatian and Serbian: the yat vowel (Serbian `mesto`, the others `mjesto`) and vocabulary (Croatian `tko`,
`tisuća`, `Europa`; the other two `ko`, `hiljada`, `Evropa`). Indonesian and Malay: spelling (`karena`/`kerana`,
`kualitas`/`kualiti`) and vocabulary. The words are what grammars and dictionaries name as differences (the method of
Ljubešić, Mikelić and Boras 2007 for these three languages), not counts from a corpus.
"""

import re
from collections.abc import Mapping

EVIDENCE = 6.0
"""Ours: how much likelier each word of a language makes it; MAX_WORDS of them at most count."""
MAX_WORDS = 5
MODEL_WEIGHT = 0.2
"""How much the models count between neighbours, beside priors of together 1: CLD2 calls four in ten Croatian and half
of the Serbian paragraphs (in Latin letters) Bosnian."""

_IJEKAVIAN = re.compile(
    r"vjer|mjer|mjest|svjet|svijet|vrijed|vrijem|čovje|dijel|djel|dijet|djet|djec|rješ|riječ|rječ|cijel|cijen|cjen"
    r"|mijen|mjen|pobjed|pobijed|sljed|slijed|uvijek|\bprije|poslije|gdje|nedjel|lijep|ljep|zahtjev|svjes|svijes|svješ|sviješ|savjes"
    r"|smije|smjet|živje|vidje|htje|željel|voljel|bijel|rijek|\bdvije|njemač|savjet|pjes|\bvijek|\bvjek|nasljed|uspje"
    r"|mlijek|\btijel|\btjel|snijeg|vijest|vjest|obavješ|razumije|naprije|vrijeđ|liječ|zamjen|namjer|sjeć|sjed|sjever"
)
_EKAVIAN = re.compile(
    r"\bver[aeuio]|\bmer[aeu]|\bmest|\bsvet|\bvredn|\bvreme\b|\bčove[kč]|\bde[ol]|\bdet|\bdec|\breš|\breč|\bcel[aeiou]"
    r"|\bcen[aeu]|promen|primen|izmen|\bpobed|\bsled|\buvek\b|\bpre\b|\bposle\b|\bgde\b|ovde|nedelj|\blep[aeio]|zahtev"
    r"|svest|sveš[ćt]|savest|\bsme\b|\bsmeju\b|živet|\bvide[lot]|\bhtel|\bželel|\bvolel|\bbel[aeiou]|\brek[aeu]|\bdve\b|nemač"
    r"|savet|\bpesm|\bpesn|\bvek|nasled|uspeh|uspeš|mlek|\btel[aou]|\bsneg|\bvest|obaveš|razume|unapred|vređ|\bleč"
    r"|zamen|namer|sever|obezbe|čovečan"
)
_CROATIAN = re.compile(
    r"\b(?:ni|ne|i|sva)?tko\b|europ|tisuć|\btjed[an]|sustav|\btoč[kn]|izvješ|priopć|odvjet|povijes|glazb|zrako|\bvlak"
    r"|\bkruh|sveučil|znanost|znanstv|obitelj|siječn|veljač|ožuj|travnj|svibnj|lipnj|srpnj|kolovoz|rujn|listopad|studen"
    r"|prosin|nogomet|tvrtk|sklad[nu]|tijek|glede\b|uporab|jamč|djelatn|nazoč|skrb|tečaj|ravnatelj|putovnic|mirovin"
    r"|pučan|promic|promič|stupanj|naobraz|izobraz|suglas|obvez|prosvjed|čimben|sudjelov|suradnj|izvan|ujedinjen\w+ narod"
    r"|glasov|bit će|ponovno|uvjet|osob[aeiu]\b|vlasni|prihvać|organizira|hrvat|zagreb"
)
_EASTERN = re.compile(
    r"\b(?:ni|ne|i|sva)?ko\b|evrop|hiljad|sedmic|sistem|uslov|januar|februar|\bmart[au]?\b|\bapril|\bjuni|\bjuli|avgust"
    r"|septemb|oktob|novemb|decemb|fudbal|\bvoz\b|hl[j]?eb|univerzit|porodic|muzik|\btač[kn]|obavez|saobrać|advokat"
    r"|\bnauk|naučn|penzij|pasoš|preduzeć|ujedinjen\w+ nacij|saradnj|učestvov|svojin|vanbrač|ubeđen|ubjeđen|\bsvak[io]\b"
    r"|organizova|prisust|bezb[j]?ed|(?:treba|mora|može|želi) da\b"
)
_SERBIAN = re.compile(r"opšt|\blic[aeu]\b|istorij|hrišćan|srbij|beograd|sprovod|saglas|takođe\b")
_BOSNIAN = re.compile(r"opć|histori|lahk|mehk|kahv|august|također|bosn|bosan|sarajev|hercegov")
_INDONESIAN = re.compile(
    r"\b(?:karena|bahwa|bisa|uang|mobil|kantor|polisi|perusahaan|pemerintah|kesehatan|internasional|nasional|warga negara"
    r"|perserikatan|propinsi|provinsi|jumat|resmi|harus|mau|saat|coba|istri|putra|saja|telepon|televisi|tanpa|pengadilan"
    r"|setiap|sesuai|apapun|siapapun|manapun|dimana|terdiri|ataupun|seorangpun|negeri|masyarakat|juga|kepada siapa"
    r"|hukum|umum|kebutuhan|maupun|berbeda|melawan|menikah|\w+(?:itas|isasi))\b"
)
_MALAY = re.compile(
    r"\b(?:kerana|bahawa|ialah|wang|kereta|pejabat|polis|syarikat|kerajaan|kesihatan|antarabangsa|warganegara"
    r"|bangsa-bangsa bersatu|jumaat|rasmi|mahu|cuba|isteri|putera|sahaja|telefon|televisyen"
    r"|mahkamah|tiap-tiap|sesiapa|mana-mana|hendaklah|berbeza|kahwin|berkahwin|perkhidmatan|jabatan|awam"
    r"|\w+(?:iti|isasi))\b"
)
_CYRILLIC = str.maketrans(
    dict(zip("абвгдђежзијклмнопрстћуфхцчш", "abvgdđežzijklmnoprstćufhcčš", strict=True))
    | {"љ": "lj", "њ": "nj", "џ": "dž"}
)
PRIORS = ({"hr": 2.0, "sr": 2.0, "bs": 1.0}, {"id": 2.0, "ms": 1.0})
"""The groups, each with how common its languages are on the web: Bosnian a quarter of Croatian, Malay less than a tenth
of Indonesian (Common Crawl's language statistics), here moderated."""


def neighbours(language: str) -> Mapping[str, float]:
    """Return the languages that `language` is easily confused with, with their priors; none for most languages."""
    return next((group for group in PRIORS if language in group), {})


def word_evidence(language: str, sample: str) -> Mapping[str, float]:
    """Return by which factor the words of a text make each neighbour of `language` likelier."""
    text = sample.lower()
    if language in ("id", "ms"):
        return {"id": _factor(_count(_INDONESIAN, text)), "ms": _factor(_count(_MALAY, text))}
    latin = text.translate(_CYRILLIC)
    ekavian = _count(_EKAVIAN, latin) - _count(_IJEKAVIAN, latin)
    # Cyrillic without the Serbian vowel is Serbian all the same: it is how Serbs in Bosnia write.
    serbian = MAX_WORDS if latin != text else ekavian + _count(_SERBIAN, latin)
    croatian = _count(_CROATIAN, latin) - _count(_EASTERN, latin)
    return {"sr": _factor(serbian), "hr": _factor(croatian), "bs": _factor(_count(_BOSNIAN, latin))}


def _count(pattern: re.Pattern[str], text: str) -> int:
    return len(pattern.findall(text))


def _factor(words: int) -> float:
    return float(EVIDENCE ** max(-MAX_WORDS, min(MAX_WORDS, words)))

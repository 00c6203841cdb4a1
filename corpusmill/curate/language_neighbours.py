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
MAX_CHARACTERS = 2000
"""How much of a sample is searched for words."""
MODEL_WEIGHT = 0.2
"""How much the models count between neighbours, beside priors of together 1: CLD2 calls four in ten Croatian and half
of the Serbian paragraphs (in Latin letters) Bosnian."""

_NO_WORD = re.compile(r"[\W_]+")


def _parts(spelled: str) -> tuple[str, ...]:
    """Return parts of words as they stand in a text of lower-case words between single spaces; `_` is a space."""
    return tuple(part.replace("_", " ") for part in spelled.split())


_IJEKAVIAN = _parts(
    "vjer mjer mjest svjet svijet vrijed vrijem čovje dijel djel dijet djet djec rješ riječ rječ cijel cijen cjen mijen mjen "
    "pobjed pobijed sljed slijed uvijek _prije poslije gdje nedjel lijep ljep zahtjev svjes svijes svješ sviješ savjes "
    "smije smjet živje vidje htje željel voljel bijel rijek _dvije njemač savjet pjes _vijek _vjek nasljed uspje mlijek "
    "_tijel _tjel snijeg vijest vjest obavješ razumije naprije vrijeđ liječ zamjen namjer sjeć sjed sjever"
)
_EKAVIAN = _parts(
    "_vera _vere _veri _vero _veru _verov _mera _mere _meru _mest _svet _vredn _vreme_ _čovek _čoveč _deo_ _dela _delo _delu "
    "_delov _dete _deci _deca _dece _decu _reš _reč _cela _cele _celi _celo _celu _cena _cene _cenu promen primen izmen "
    "_pobed _sled _uvek_ _pre_ _posle_ _gde_ ovde nedelj _lepa _lepe _lepi _lepo zahtev svest svešć savest _sme_ _smeju_ "
    "živet _vide _htel _željel _volel _bela _bele _beli _belo _reka _reke _reku _dve_ nemač savet _pesm _pesn _vek_ _veka "
    "_veku nasled uspeh uspeš mlek _tela _telo _telu _sneg _vest_ _vesti obaveš razume unapred vređ _leč zamen namer sever "
    "obezbe čovečan"
)
_CROATIAN = _parts(
    "tko_ europ tisuć _tjed sustav _točk _točn izvješ priopć odvjet povijes glazb zrako _vlak _kruh sveučil znanost znanstv "
    "obitelj siječn veljač ožuj travnj svibnj lipnj srpnj kolovoz rujn listopad studen prosin nogomet tvrtk skladn skladu "
    "tijek glede_ uporab jamč djelatn nazoč skrb tečaj ravnatelj putovnic mirovin pučan promic promič stupanj naobraz "
    "izobraz suglas obvez prosvjed čimben sudjelov suradnj izvan ujedinjenih_narod ujedinjeni_narod glasov bit_će ponovno "
    "uvjet osoba_ osobe_ osobi_ osobu_ vlasni prihvać organizira hrvat zagreb"
)
_EASTERN = _parts(
    "_ko_ _niko_ _neko_ _iko_ _svako_ _svaki_ evrop hiljad sedmic sistem uslov januar februar _mart_ _marta_ _april _juni "
    "_juli avgust septemb oktob novemb decemb fudbal _voz_ hljeb _hleb univerzit porodic muzik _tačk _tačn obavez saobrać "
    "advokat _nauk naučn penzij pasoš preduzeć ujedinjenih_nacij saradnj učestvov svojin vanbrač ubeđen ubjeđen organizova "
    "prisust bezbed bezbjed treba_da_ mora_da_ može_da_ želi_da_"
)
_SERBIAN = _parts("opšt _lica_ _lice_ _licu_ istorij hrišćan srbij beograd sprovod saglas takođe_")
_BOSNIAN = _parts("opć histori lahk mehk kahv august također bosn bosan sarajev hercegov")
_INDONESIAN = _parts(
    "_karena_ _bahwa_ _bisa_ _uang_ _mobil_ _kantor_ _polisi_ _perusahaan_ _pemerintah_ _kesehatan_ _internasional_ "
    "_nasional_ _warga_negara_ _perserikatan_ _propinsi_ _provinsi_ _jumat_ _resmi_ _harus_ _mau_ _saat_ _coba_ _istri_ "
    "_putra_ _saja_ _telepon_ _televisi_ _tanpa_ _pengadilan_ _setiap_ _sesuai_ _apapun_ _siapapun_ _manapun_ _dimana_ "
    "_terdiri_ _ataupun_ _seorangpun_ _negeri_ _masyarakat_ _juga_ _hukum_ _umum_ _kebutuhan_ _maupun_ _berbeda_ "
    "_melawan_ _menikah_ itas_"
)
_MALAY = _parts(
    "_kerana_ _bahawa_ _ialah_ _wang_ _kereta_ _pejabat_ _polis_ _syarikat_ _kerajaan_ _kesihatan_ _antarabangsa_ "
    "_warganegara_ _bangsa_bangsa_bersatu_ _jumaat_ _rasmi_ _mahu_ _cuba_ _isteri_ _putera_ _sahaja_ _telefon_ "
    "_televisyen_ _mahkamah_ _tiap_tiap_ _sesiapa_ _mana_mana_ _hendaklah_ _berbeza_ _kahwin_ _berkahwin_ _perkhidmatan_ "
    "_jabatan_ _awam_ iti_"
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
    text = f" {_NO_WORD.sub(' ', sample[:MAX_CHARACTERS].lower())} "
    if language in ("id", "ms"):
        return {"id": _factor(_count(_INDONESIAN, text)), "ms": _factor(_count(_MALAY, text))}
    latin = text.translate(_CYRILLIC)
    ekavian = _count(_EKAVIAN, latin) - _count(_IJEKAVIAN, latin)
    # Cyrillic without the Serbian vowel is Serbian all the same: it is how Serbs in Bosnia write.
    serbian = MAX_WORDS if latin != text else ekavian + _count(_SERBIAN, latin)
    croatian = _count(_CROATIAN, latin) - _count(_EASTERN, latin)
    return {"sr": _factor(serbian), "hr": _factor(croatian), "bs": _factor(_count(_BOSNIAN, latin))}


def _count(parts: tuple[str, ...], text: str) -> int:
    return sum(text.count(part) for part in parts)


def _factor(words: int) -> float:
    return float(EVIDENCE ** max(-MAX_WORDS, min(MAX_WORDS, words)))

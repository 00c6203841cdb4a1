"""Check digits: whether a number is one that its issuer could have given out.

Each function takes the characters without separators and returns whether they pass. A number of random digits passes one
check digit in ten times, two of them in a hundred.
"""

import hashlib
from datetime import date

IBAN_LENGTHS = {
    "AD": 24,
    "AE": 23,
    "AL": 28,
    "AT": 20,
    "AZ": 28,
    "BA": 20,
    "BE": 16,
    "BG": 22,
    "BH": 22,
    "BI": 27,
    "BR": 29,
    "BY": 28,
    "CH": 21,
    "CR": 22,
    "CY": 28,
    "CZ": 24,
    "DE": 22,
    "DJ": 27,
    "DK": 18,
    "DO": 28,
    "EE": 20,
    "EG": 29,
    "ES": 24,
    "FI": 18,
    "FK": 18,
    "FO": 18,
    "FR": 27,
    "GB": 22,
    "GE": 22,
    "GI": 23,
    "GL": 18,
    "GR": 27,
    "GT": 28,
    "HR": 21,
    "HU": 28,
    "IE": 22,
    "IL": 23,
    "IQ": 23,
    "IS": 26,
    "IT": 27,
    "JO": 30,
    "KW": 30,
    "KZ": 20,
    "LB": 28,
    "LC": 32,
    "LI": 21,
    "LT": 20,
    "LU": 20,
    "LV": 21,
    "LY": 25,
    "MC": 27,
    "MD": 24,
    "ME": 22,
    "MK": 19,
    "MN": 20,
    "MR": 27,
    "MT": 31,
    "MU": 30,
    "NI": 28,
    "NL": 18,
    "NO": 15,
    "OM": 23,
    "PK": 24,
    "PL": 28,
    "PS": 29,
    "PT": 25,
    "QA": 29,
    "RO": 24,
    "RS": 22,
    "RU": 33,
    "SA": 24,
    "SC": 31,
    "SD": 18,
    "SE": 24,
    "SI": 19,
    "SK": 24,
    "SM": 27,
    "SO": 23,
    "ST": 25,
    "SV": 28,
    "TL": 23,
    "TN": 24,
    "TR": 26,
    "UA": 29,
    "VA": 22,
    "VG": 24,
    "XK": 20,
    "YE": 30,
}
"""Characters of an account number by country: SWIFT's IBAN registry (ISO 13616)."""

_FISCAL_ODD = dict(
    zip(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        (
            *(1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14),
            *(16, 10, 22, 25, 24, 23),
        ),
        strict=True,
    )
)
"""Values at odd places of an Italian fiscal code (decree of 23 December 1976, table)."""
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_BECH32_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)


def is_luhn(digits: str) -> bool:
    """ISO/IEC 7812-1, annex B."""
    doubled = (int(digit) * 2 for digit in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(value - 9 * (value > 9) for value in doubled)) % 10 == 0


def is_card(digits: str) -> bool:
    """Whether a number has its issuer's prefix and length (ISO/IEC 7812 ranges as the issuers publish them), and Luhn's digit."""
    length, two, four = len(digits), int(digits[:2]), int(digits[:4])
    is_issued = (
        (digits[0] == "4" and length in (13, 16, 19))
        or ((51 <= two <= 55 or 2221 <= four <= 2720) and length == 16)  # Mastercard
        or (two in (34, 37) and length == 15)  # American Express
        or ((300 <= four // 10 <= 305 or two in (36, 38, 39)) and length == 14)  # Diners Club
        or ((four == 6011 or two == 65 or 644 <= four // 10 <= 649 or two == 62) and 16 <= length <= 19)
        or ((3528 <= four <= 3589 and 16 <= length <= 19) or (four in (2131, 1800) and length == 15))  # JCB
        or (four in (5018, 5020, 5038, 5893, 6304, 6759, 6761, 6762, 6763) and length >= 12)  # Maestro
    )
    return is_issued and is_luhn(digits)


def is_iban(account: str) -> bool:
    """ISO 13616: the country's length, and remainder 1 of 97."""
    account = account.upper()
    if IBAN_LENGTHS.get(account[:2]) != len(account):
        return False
    return int("".join(str(int(character, 36)) for character in account[4:] + account[:4])) % 97 == 1


def is_us_ssn(digits: str) -> bool:
    """Social Security numbers: no area 000, 666 or 900 to 999, no group 00, no serial 0000 (SSA, POMS RM 10201.035)."""
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def is_us_itin(digits: str) -> bool:
    """Taxpayer numbers: area 900 to 999, fourth and fifth digits 50-65, 70-88, 90-92, 94-99 (IRS, IRM 3.21.263)."""
    group = int(digits[3:5])
    is_group = 50 <= group <= 65 or 70 <= group <= 88 or 90 <= group <= 92 or 94 <= group <= 99
    return digits[0] == "9" and is_group


def is_uk_nhs(digits: str) -> bool:
    """NHS numbers: ten digits, weights 10 to 2, modulo 11 (NHS Data Dictionary)."""
    check = 11 - sum(int(digit) * weight for digit, weight in zip(digits[:9], range(10, 1, -1), strict=True)) % 11
    return check % 11 == int(digits[9]) and check != 10


def is_uk_nino(number: str) -> bool:
    """National Insurance numbers: prefixes that HMRC gives out (NIM39110); there is no check digit."""
    first, second = number[0], number[1]
    is_prefix = first not in "DFIQUV" and second not in "DFIOQUV"
    return is_prefix and number[:2] not in ("BG", "GB", "KN", "NK", "NT", "TN", "ZZ") and number[8] in "ABCD"


def is_es_nif(number: str) -> bool:
    """Spanish numbers of citizens (8 digits) and foreigners (X, Y, Z and 7): the letter is the remainder of 23."""
    digits = {"X": "0", "Y": "1", "Z": "2"}.get(number[0], number[0]) + number[1:8]
    return digits.isdigit() and "TRWAGMYFPDXBNJZSQVHLCKE"[int(digits) % 23] == number[8]


def is_it_fiscal_code(code: str) -> bool:
    """Italian fiscal codes: the last letter is the sum of the places' values modulo 26."""
    even = sum(int(character) if character.isdigit() else ord(character) - 65 for character in code[1:15:2])
    return chr(65 + (even + sum(_FISCAL_ODD[character] for character in code[0:15:2])) % 26) == code[15]


def is_fr_nir(number: str) -> bool:
    """French social security numbers: sex, month, and the key 97 - number % 97; Corsica's 2A and 2B count as 19 and 18."""
    body = number[:13].replace("2A", "19").replace("2B", "18")
    if not (body + number[13:]).isdigit() or body[0] not in "12":
        return False
    month = int(body[3:5])
    return (1 <= month <= 12 or 20 <= month <= 42 or month >= 50) and 97 - int(body) % 97 == int(number[13:])


def is_de_tax_id(digits: str) -> bool:
    """German tax ids: ISO 7064 MOD 11,10; of the first ten digits one stands twice or three times, the others once."""
    repeats = sorted(digits[:10].count(digit) for digit in set(digits[:10]))
    if digits[0] == "0" or repeats[-1] not in (2, 3) or repeats[:-1] != [1] * (len(repeats) - 1):
        return False
    product = 10
    for digit in digits[:10]:
        product = ((int(digit) + product) % 10 or 10) * 2 % 11
    return (11 - product) % 10 == int(digits[10])


def is_pl_pesel(digits: str) -> bool:
    """Polish numbers: a date of birth whose month tells the century, and weights 1, 3, 7, 9 modulo 10."""
    weights = (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)
    century, month = divmod(int(digits[2:4]), 20)
    year = (1900, 2000, 2100, 2200, 1800)[century] + int(digits[:2])
    total = sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=True))
    return total % 10 == 0 and _is_date(year, month, int(digits[4:6]))


def is_br_cpf(digits: str) -> bool:
    """Brazilian numbers: two check digits modulo 11; eleven equal digits pass them and are nobody's."""
    for length in (9, 10):
        weights = range(length + 1, 1, -1)
        total = sum(int(digit) * weight for digit, weight in zip(digits[:length], weights, strict=True))
        if total * 10 % 11 % 10 != int(digits[length]):
            return False
    return len(set(digits)) > 1


def is_base58_coin(address: str) -> bool:
    """Bitcoin's old addresses: 21 bytes of version 0 or 5 and hash, and four of their double SHA-256, in base 58."""
    value = 0
    for character in address:
        digit = _BASE58.find(character)
        if digit < 0:
            return False
        value = value * 58 + digit
    if value >> 200:
        return False
    data = value.to_bytes(25, "big")
    return data[0] in (0, 5) and hashlib.sha256(hashlib.sha256(data[:21]).digest()).digest()[:4] == data[21:]


def is_bech32_coin(address: str) -> bool:
    """Bitcoin's segwit addresses: the polynomial of BIP-173, or of BIP-350 from version 1 on."""
    address = address.lower()
    if not address.startswith("bc1") or not all(character in _BECH32 for character in address[3:]):
        return False
    values = [3, 3, 0, 2, 3, *(_BECH32.index(character) for character in address[3:])]
    checksum = 1
    for value in values:
        top = checksum >> 25
        checksum = (checksum & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(_BECH32_GENERATOR):
            checksum ^= generator if top >> bit & 1 else 0
    return checksum == (1 if values[5] == 0 else 0x2BC830A3)


def _is_date(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True

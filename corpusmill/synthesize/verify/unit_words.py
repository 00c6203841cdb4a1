"""Units of measure: their symbols, and how they are spelled in the languages that the recipes translate between."""

from collections.abc import Mapping
from types import MappingProxyType

_PREFIXES = ("", "k", "M", "G", "T", "c", "m", "μ", "n", "p", "d", "h")
_PREFIXED = ("m", "g", "s", "A", "Hz", "N", "Pa", "J", "W", "V", "Ω", "F", "eV", "L", "cal", "Wh", "mol", "C", "B")
_WHOLE = (
    "min",
    "h",
    "K",
    "T",
    "cd",
    "lx",
    "lm",
    "rad",
    "rev",
    "rpm",
    "atm",
    "bar",
    "mmHg",
    "°C",
    "°F",
    "°",
    "ft",
    "yd",
    "mi",
)
_OTHERS = {
    "l": "L", "ml": "mL", "dl": "dL", "cl": "cL", "hr": "h", "hrs": "h", "sec": "s", "lb": "lb", "lbs": "lb", "oz": "oz",
    "gal": "gal", "mph": "mi/h", "kmh": "km/h", "kph": "km/h", "%": "%", "％": "%", "º": "°", "$": "USD",
    "US$": "USD", "USD": "USD",
    "€": "EUR", "EUR": "EUR", "£": "GBP", "GBP": "GBP", "¥": "JPY", "JPY": "JPY", "₹": "INR", "INR": "INR",
}  # fmt: skip

SYMBOLS: Mapping[str, str] = MappingProxyType(
    {f"{prefix}{unit}": f"{prefix}{unit}" for unit in _PREFIXED for prefix in _PREFIXES}
    | {unit: unit for unit in _WHOLE}
    | _OTHERS
)
"""Symbol to the unit that it stands for, `µ` read as `μ`."""

SPELLED: Mapping[str, Mapping[str, str]] = {
    "en": {
        "m": "meter meters metre metres", "km": "kilometer kilometers kilometre kilometres",
        "cm": "centimeter centimeters centimetre centimetres", "mm": "millimeter millimeters millimetre millimetres",
        "g": "gram grams gramme grammes", "kg": "kilogram kilograms kilo kilos", "mg": "milligram milligrams",
        "L": "liter liters litre litres", "mL": "milliliter milliliters millilitre millilitres",
        "s": "second seconds", "min": "minute minutes", "h": "hour hours", "d": "day days", "wk": "week weeks",
        "mo": "month months", "yr": "year years", "mi": "mile miles", "ft": "foot feet", "in": "inch inches",
        "yd": "yard yards", "lb": "pound pounds", "oz": "ounce ounces", "gal": "gallon gallons",
        "%": "percent", "USD": "dollar dollars", "EUR": "euro euros", "°": "degree degrees", "N": "newton newtons",
        "J": "joule joules", "W": "watt watts", "V": "volt volts", "Hz": "hertz", "Pa": "pascal pascals", "ton": "ton tons",
    },
    "es": {
        "m": "metro metros", "km": "kilómetro kilómetros", "cm": "centímetro centímetros", "mm": "milímetro milímetros",
        "g": "gramo gramos", "kg": "kilogramo kilogramos kilo kilos", "mg": "miligramo miligramos", "L": "litro litros",
        "mL": "mililitro mililitros", "s": "segundo segundos", "min": "minuto minutos", "h": "hora horas", "d": "día días",
        "wk": "semana semanas", "mo": "mes meses", "yr": "año años", "mi": "milla millas", "ft": "pie pies",
        "in": "pulgada pulgadas", "yd": "yarda yardas", "lb": "libra libras", "oz": "onza onzas", "gal": "galón galones",
        "USD": "dólar dólares", "EUR": "euro euros", "°": "grado grados", "N": "newton newtons", "J": "julio julios",
        "W": "vatio vatios", "V": "voltio voltios", "Hz": "hercio hercios", "Pa": "pascal pascales", "ton": "tonelada toneladas",
    },
    "fr": {
        "m": "mètre mètres", "km": "kilomètre kilomètres", "cm": "centimètre centimètres", "mm": "millimètre millimètres",
        "g": "gramme grammes", "kg": "kilogramme kilogrammes kilo kilos", "mg": "milligramme milligrammes",
        "L": "litre litres", "mL": "millilitre millilitres", "s": "seconde secondes", "min": "minute minutes",
        "h": "heure heures", "d": "jour jours", "wk": "semaine semaines", "mo": "mois", "yr": "an ans année années",
        "mi": "mile miles mille milles", "ft": "pied pieds", "in": "pouce pouces", "yd": "yard yards verge verges",
        "lb": "livre livres", "oz": "once onces", "gal": "gallon gallons", "USD": "dollar dollars", "EUR": "euro euros",
        "°": "degré degrés", "N": "newton newtons", "J": "joule joules", "W": "watt watts", "V": "volt volts",
        "Hz": "hertz", "Pa": "pascal pascals", "ton": "tonne tonnes",
    },
    "de": {
        "m": "Meter Metern", "km": "Kilometer Kilometern", "cm": "Zentimeter Zentimetern", "mm": "Millimeter Millimetern",
        "g": "Gramm", "kg": "Kilogramm Kilo", "mg": "Milligramm", "L": "Liter Litern", "mL": "Milliliter",
        "s": "Sekunde Sekunden",
        "min": "Minute Minuten", "h": "Stunde Stunden", "d": "Tag Tage Tagen", "wk": "Woche Wochen", "mo": "Monat Monate Monaten",
        "yr": "Jahr Jahre Jahren", "mi": "Meile Meilen", "ft": "Fuß", "in": "Zoll", "yd": "Yard Yards", "lb": "Pfund",
        "oz": "Unze Unzen", "gal": "Gallone Gallonen", "%": "Prozent", "USD": "Dollar", "EUR": "Euro", "°": "Grad",
        "N": "Newton", "J": "Joule", "W": "Watt", "V": "Volt", "Hz": "Hertz", "Pa": "Pascal", "ton": "Tonne Tonnen",
    },
}  # fmt: skip
PERCENT: Mapping[str, str] = {"en": "per cent", "es": "por ciento", "fr": "pour cent"}

"""Number words of languages that end their words at a blank; what the fields mean stands in `number_vocabulary`."""

from collections.abc import Mapping

from corpusmill.synthesize.verify.number_vocabulary import NumberWords

_ONES = ("ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun")
_TENS = ("zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig")


def _german_compounds() -> dict[str, str]:
    """Return 21 to 99, the hundreds and the thousands, each of which is one word."""
    ones = list(enumerate(_ONES, start=1))
    tens = enumerate(_TENS, start=2)
    found = {
        f"{one}{zeros}": f"{word}{factor}"
        for one, word in ones
        for zeros, factor in (("00", "hundert"), ("000", "tausend"))
    }
    for ten, name in tens:
        found |= {f"{ten}0": name} | {f"{ten}{one}": f"{word}und{name}" for one, word in ones}
    return found


ALPHABETIC: Mapping[str, NumberWords] = {
    "en": NumberWords(
        counting=(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
            "sixteen seventeen eighteen nineteen twenty"
        ),
        cardinals={
            "30": "thirty",
            "40": "forty",
            "50": "fifty",
            "60": "sixty",
            "70": "seventy",
            "80": "eighty",
            "90": "ninety",
        },
        scales={
            "12": "dozen dozens",
            "100": "hundred",
            "1000": "thousand",
            "1000000": "million millions",
            "1000000000": "billion billions",
            "1000000000000": "trillion",
        },
        derived={
            "0.5": "half",
            "2": "half halves halved twice double* second both twin*",
            "3": "third thirds triple* thrice triplet*",
            "4": "fourth fourths",
            "5": "fifth fifths",
            "6": "sixth sixths",
            "7": "seventh sevenths",
            "8": "eighth eighths",
            "9": "ninth ninths",
            "10": "tenth tenths",
            "11": "eleventh",
            "12": "twelfth",
            "13": "thirteenth",
            "14": "fourteenth",
            "15": "fifteenth",
            "16": "sixteenth",
            "17": "seventeenth",
            "18": "eighteenth",
            "19": "nineteenth",
            "20": "twentieth",
            "30": "thirtieth",
            "100": "hundredth hundredths",
            "1000": "thousandth",
        },
        loose={
            "2": "pair pairs couple fortnight other",
            "0": "none nothing midnight",
            "0.25": "quarter",
            "1": "a an single another other whole penny pennies only",
            "1 each": "per each every daily weekly monthly yearly annual* hourly",
            "1 first": "first once",
            "4": "quarter quarters",
            "5": "nickel nickels",
            "10": "decade decades dime dimes",
            "12": "noon midnight",
            "14": "fortnight",
            "24": "midnight",
            "25": "quarter quarters",
            "100": "century centuries",
        },
        months="january february march april may june july august september october november december",
        joints="and",
        hours="hour hours",
        is_one_an_article=False,
        traps=r"(?<=per\s)second (?<=\d\s)second (?<=each\s)second",
    ),
    "es": NumberWords(
        counting=(
            "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince "
            "dieciséis diecisiete dieciocho diecinueve veinte veintiuno/veintiún/veintiuna veintidós "
            "veintitrés veinticuatro veinticinco veintiséis veintisiete veintiocho veintinueve treinta"
        ),
        cardinals={
            "40": "cuarenta",
            "50": "cincuenta",
            "60": "sesenta",
            "70": "setenta",
            "80": "ochenta",
            "90": "noventa",
            "200": "doscientos doscientas",
            "300": "trescientos trescientas",
            "400": "cuatrocientos cuatrocientas",
            "500": "quinientos quinientas",
            "600": "seiscientos seiscientas",
            "700": "setecientos setecientas",
            "800": "ochocientos ochocientas",
            "900": "novecientos novecientas",
        },
        scales={
            "12": "docena docenas",
            "100": "cien ciento",
            "1000": "mil",
            "1000000": "millón millones",
            "1000000000000": "billón billones",
        },
        derived={
            "0.5": "medio media",
            "0.25": "cuarto",
            "2": "mitad medio media doble* duplic* ambos ambas segundo segunda segundas",
            "3": "tercio tercios tercera tercero tercer terceros terceras triple* triplic*",
            "4": "cuarto cuarta cuartos cuartas cuádru*",
            "5": "quinto quinta quintos quintas",
            "6": "sexto sexta sextos",
            "7": "séptimo séptima",
            "8": "octavo octava octavos",
            "9": "noveno novena novenos",
            "10": "décimo décima décimas décimos",
            "12": "duodécimo",
            "100": "centésima* centésimo*",
            "1000": "milésima* milésimo*",
        },
        loose={
            "2": "par pares segundos gemel* pareja",
            "0": "ningún ninguna ninguno nulo nula nulos nulas medianoche",
            "1": "un una unos unas único única solo sola otro otra",
            "1 first": "primer primera primero primeros primeras vez",
            "1 each": "cada por diario diaria diarios mensual semanal anual",
            "4": "cuadru*",
            "10": "década décadas",
            "12": "mediodía medianoche",
            "24": "medianoche",
            "100": "siglo siglos",
        },
        months="enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        joints="y",
        hours="hora horas",
        traps=r"(?<=por\s)segundo (?<=cada\s)segundo (?<=\d\s)segundo",
    ),
    "fr": NumberWords(
        counting=(
            "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize "
            "dix-sept dix-huit dix-neuf vingt"
        ),
        cardinals={
            "30": "trente",
            "40": "quarante",
            "50": "cinquante",
            "60": "soixante",
            "70": "septante",
            "80": "quatre-vingt quatre-vingts huitante",
            "90": "nonante",
        },
        scales={
            "12": "douzaine douzaines",
            "100": "cent cents centaine",
            "1000": "mille millier milliers",
            "1000000": "million millions",
            "1000000000": "milliard milliards",
        },
        derived={
            "0.5": "demi demie",
            "0.25": "quart",
            "2": "moitié demi demie double* deuxième* second seconde",
            "3": "tiers troisième* triple*",
            "4": "quart quarts quatrième*",
            "5": "cinquième*",
            "6": "sixième*",
            "7": "septième*",
            "8": "huitième*",
            "9": "neuvième*",
            "10": "dixième*",
            "12": "douzième*",
            "100": "centième*",
            "1000": "millième*",
        },
        loose={
            "2": "paire paires couple seconds secondes",
            "0": "aucun aucune nul nulle minuit",
            "1": "une unique seul seule autre",
            "1 first": "premier première premiers premières fois",
            "1 each": "chaque par mensuel* annuel* hebdomadaire* quotidien*",
            "10": "décennie* dizaine*",
            "12": "midi minuit",
            "15": "quinzaine",
            "20": "vingtaine",
            "24": "minuit",
            "100": "siècle siècles",
        },
        months="janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        joints="et",
        hours="heure heures",
        traps=r"(?<=par\s)seconde (?<=chaque\s)seconde (?<=\d\s)seconde",
    ),
    "de": NumberWords(
        counting=(
            "null eins zwei/zwo drei/dreien vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn "
            "fünfzehn sechzehn siebzehn achtzehn neunzehn"
        ),
        cardinals=_german_compounds(),
        scales={
            "12": "dutzend",
            "100": "hundert",
            "1000": "tausend",
            "1000000": "million millionen mio",
            "1000000000": "milliarde milliarden mrd",
        },
        derived={
            "0.5": "halb halbe halben halber halbes",
            "0.25": "viertel",
            "1.5": "anderthalb* eineinhalb*",
            "2": "halb* hälfte doppel* zweimal zweite* zweifach* beide*",
            "3": "drittel* dritte* dreimal dreifach*",
            "4": "viertel* vierte* viermal vierfach*",
            "5": "fünftel* fünfte* fünfmal fünffach*",
            "6": "sechstel sechste* sechsmal",
            "7": "siebte*",
            "8": "achtel achte* achtmal",
            "9": "neunte* neuntel",
            "10": "zehnte* zehntel",
            "100": "hundertstel",
        },
        loose={
            "2": "paar zwilling*",
            "0": "kein keine keinen mitternacht",
            "1": "ein eine einem einen einer eines einzige* andere*",
            "1 first": "erste* einmal",
            "1 each": "pro je jede jeder jedes jeden jedem täglich* wöchentlich* monatlich* jährlich*",
            "10": "jahrzehnt*",
            "12": "mittag*",
            "24": "mitternacht",
            "100": "jahrhundert*",
        },
        months="januar februar märz april mai juni juli august september oktober november dezember",
        hours="stunde stunden",
    ),
    "pt": NumberWords(
        counting=(
            "zero um dois/duas três quatro cinco seis sete oito nove dez onze doze treze catorze/quatorze "
            "quinze dezesseis/dezasseis dezessete/dezassete dezoito dezenove/dezanove vinte"
        ),
        cardinals={
            "30": "trinta",
            "40": "quarenta",
            "50": "cinquenta",
            "60": "sessenta",
            "70": "setenta",
            "80": "oitenta",
            "90": "noventa",
            "200": "duzentos duzentas",
            "300": "trezentos trezentas",
            "400": "quatrocentos",
            "500": "quinhentos",
            "600": "seiscentos",
            "700": "setecentos",
            "800": "oitocentos",
            "900": "novecentos",
        },
        scales={
            "12": "dúzia dúzias",
            "100": "cem cento",
            "1000": "mil",
            "1000000": "milhão milhões",
            "1000000000": "bilhão bilhões",
        },
        derived={
            "0.5": "meio meia",
            "2": "metade meio meia dobro dupl* ambos ambas segund*",
            "3": "terço terços terceir* tripl*",
            "4": "quarto quarta quartos",
            "5": "quinto quinta quintos",
            "6": "sexto sexta",
            "7": "sétim*",
            "8": "oitav*",
            "10": "décim*",
        },
        loose={
            "2": "par pares",
            "1": "uma único única outro outra",
            "1 first": "primeir* vez",
            "1 each": "cada por",
            "9": "non*",
            "10": "década*",
            "12": "meio-dia",
            "100": "século séculos",
        },
        months="janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        joints="e",
        hours="hora horas",
        traps=r"(?<=por\s)segundo (?<=cada\s)segundo (?<=\d\s)segundo",
    ),
    "it": NumberWords(
        counting=(
            "zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici "
            "quindici sedici diciassette diciotto diciannove venti"
        ),
        cardinals={
            "30": "trenta",
            "40": "quaranta",
            "50": "cinquanta",
            "60": "sessanta",
            "70": "settanta",
            "80": "ottanta",
            "90": "novanta",
            "200": "duecento",
            "300": "trecento",
            "500": "cinquecento",
        },
        scales={
            "12": "dozzina dozzine",
            "100": "cento",
            "1000": "mille mila",
            "1000000": "milione milioni",
            "1000000000": "miliardo miliardi",
        },
        derived={
            "0.5": "mezzo mezza",
            "2": "metà mezzo mezza doppi* entramb* second*",
            "3": "terz* tripl*",
            "4": "quart*",
            "5": "quint*",
            "6": "sest*",
            "7": "settim*",
            "8": "ottav*",
            "10": "decim*",
        },
        loose={
            "2": "paio coppia",
            "1": "un una unico unica altro altra",
            "1 first": "prim* volta",
            "1 each": "ogni per",
            "9": "non*",
            "10": "decennio",
            "12": "mezzogiorno",
            "100": "secolo secoli",
        },
        months="gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        joints="e",
        hours="ora ore",
        traps=r"(?<=al\s)secondo (?<=ogni\s)secondo (?<=\d\s)secondo",
    ),
    "ru": NumberWords(
        counting=(
            "ноль/нуль один два/две/двух/двум/двумя три/трех/трёх/трем/трём/тремя/трое/троих "
            "четыре/четырех/четырёх/четырем/четырьмя/четверо/четверых пять/пяти/пятью/пятеро/пятерых "
            "шесть/шести/шестью семь/семи/семью восемь/восьми девять/девяти десять/десяти "
            "одиннадцать/одиннадцати двенадцать/двенадцати тринадцать/тринадцати четырнадцать/четырнадцати "
            "пятнадцать/пятнадцати шестнадцать/шестнадцати семнадцать/семнадцати восемнадцать/восемнадцати "
            "девятнадцать/девятнадцати двадцать/двадцати"
        ),
        cardinals={
            "30": "тридцать тридцати",
            "40": "сорок сорока",
            "50": "пятьдесят пятидесяти",
            "60": "шестьдесят шестидесяти",
            "70": "семьдесят семидесяти",
            "80": "восемьдесят восьмидесяти",
            "90": "девяносто девяноста",
            "200": "двести двухсот",
            "300": "триста трехсот трёхсот",
            "400": "четыреста",
            "500": "пятьсот пятисот",
        },
        scales={
            "12": "дюжина дюжины дюжин дюжину",
            "100": "сто ста",
            "1000": "тысяча тысячи тысяч тысячу тыс",
            "1000000": "миллион миллиона миллионов млн",
            "1000000000": "миллиард миллиарда миллиардов млрд",
        },
        derived={
            "0.5": "половина половину половины половиной пол полтора",
            "1.5": "полтора полторы",
            "2": (
                "половина половину половины половиной пол полтора второй вторая второе второго второй вторую "
                "втором вторые вторых дважды вдвое двое двоих обе оба обеих обоих двойн* удво*"
            ),
            "3": "трети треть третьей третий третья третье третьего третьему третьим третью трижды втрое трой*",
            "4": "четверт* четвёрт* вчетверо",
            "5": "пятая пятый пятое пятого пятой пятую пятых впятеро",
            "6": "шестая шестой шестое шестого шестую",
            "7": "седьм*",
            "8": "восьмой восьмая восьмую восьмых",
            "9": "девятый девятая девятую",
            "10": "десятый десятая десятую десятых",
        },
        loose={
            "2": "пара пары пару пар полчаса",
            "0": "ни никто никакой полночь",
            "0.5": "полчаса",
            "1": "одна одно одного одной одну одному одним одном другой другая другого другую",
            "1 first": "первый перва* перво* первы* перву* раз",
            "1 each": (
                "каждый каждая каждое каждого каждой каждую каждом каждому каждые ежедневн* еженедельн* "
                "ежемесячн* ежегодн*"
            ),
            "10": "десяток десятилет*",
            "12": "полдень полночь",
            "30": "полчаса",
            "100": "век века",
        },
        months="январ* феврал* март* апрел* ма/мая/мае июн* июл* август* сентябр* октябр* ноябр* декабр*",
        hours="час часа часов",
    ),
    "sw": NumberWords(
        counting=(
            "sifuri moja mbili/wawili/miwili/mawili/viwili/wili/maradufu tatu/watatu/mitatu/matatu/vitatu "
            "nne/wanne/minne/manne/vinne tano/watano/mitano/matano/vitano sita saba "
            "nane/wanane/minane/manane/vinane tisa kumi"
        ),
        cardinals={
            "20": "ishirini",
            "30": "thelathini",
            "40": "arobaini arubaini",
            "50": "hamsini",
            "60": "sitini",
            "70": "sabini",
            "80": "themanini",
            "90": "tisini",
        },
        scales={
            "12": "dazeni",
            "100": "mia",
            "1000": "elfu",
            "1000000": "milioni",
        },
        derived={
            "0.5": "nusu",
            "0.25": "robo",
            "2": "nusu pili",
            "3": "theluthi thuluthi",
            "4": "robo",
        },
        loose={
            "2": "jozi mara maradufu pacha",
            "1": "mmoja kimoja limoja umoja mwingine nyingine ingine jingine kingine",
            "1 first": "kwanza",
            "1 each": "kila kwa",
            "10": "muongo",
            "12": "mchana usiku",
            "100": "karne",
        },
        months="januari februari machi aprili mei juni julai agosti septemba oktoba novemba desemba",
        joints="na",
        hours="saa masaa",
    ),
}

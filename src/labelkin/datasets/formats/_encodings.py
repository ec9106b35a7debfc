"""The encoding of a text that is not UTF-8, guessed from the characters that it makes."""

import contextlib
import math
import re
from collections import Counter
from itertools import pairwise

_SAMPLE = 2**15  # bytes, from the first line on that is not in ASCII

# The commonest characters of languages, in lower case, are enough to tell encodings apart.
_HANZI = (
    "的一是不了在人有我他中上大和地到以就出可也你生能而子那得下自之年后作里用道行所然家成方多去法"
    "如都同起看定天分好小部其些主理心她本前因只想日者意力它把十民第公此已工使情明性知全三又正外由"
    "最很重手向文美相被利什二等新己制身加西斯月合回特代信表化老位次度任先海通教原立及比真走入口平"
    "系活更打女男四神何安少受才市省京北南品店慢快差台"
)
_SIMPLIFIED = _HANZI + (
    "这个们来为国说时会对过发种经么学现当没动还进样从实无与长机关点业将两高间问并应头体见产话给门"
    "儿东声提员解水论处几条气题别总电数报价钱买卖货订单号区客户质服务张李王刘名"
)
_TRADITIONAL = _HANZI + (
    "這個們來為國說時會對過發種經麼學現當沒動還進樣從實無與長機關點業將兩高間問並應頭體見產話給門"
    "兒東聲提員解水論處幾條氣題別總電數報價錢買賣貨訂單號區客戶質服務張李王劉名"
)
_JAPANESE = (
    "あいうえおかがきぎくぐけげこごさざしじすずせぜそぞただちっつづてでとどなにねのはばひびふぶへべほ"
    "まみむめもゃやゅゆょよらりるれろわをんァアィイウェエォオカガキギクグケコゴサザシジスズセソタダチ"
    "ッツテデトドナニネノハバパヒビピフブプヘベペホボポマミムメモャヤュユョヨラリルレロワンー"
    "日一人年大本中出三時行見月分後前生上東金入学高間子外下来気小話女男名川電語車何食店会社事自者地"
    "業方新場員手力問代明動京目理体田主題意不度公持野家世多正安心文元市区県都"
)
_KOREAN = (
    "이다는의에을가고하한지로은사기도를나대리자시어서인아해스정그수있일것들전보구제라장부과으성게상"
    "원주만여조면신요니안동공선거세유소오국비우생했미경무학위진민때마관모방당적문연화계중양재실력말"
    "개내명물분간교결등습통호좋합감매품배송음너더드려로남북울산광역김박최"
)
_QUOTES = "«»„“”‘’–…¿¡\xa0€£¥•®™"  # and other marks that are as frequent as letters
_MARKS = _QUOTES + "‚—§°²³·©½±µ†‡‰‹›，。、：；！？（）「」《》【】～％　・"
# Symbols inside words, and signs before them.
_ODD = re.compile(r"(?<=[A-Za-z])[¹²³º°±®©¿¡¢£¥§¶„“”«»–…](?=[a-z])|[€£¥®™](?=[^\W\d_])")
# By language, such as German, French and Polish. What texts in several of them have comes last.
_WESTERN = [
    "äöüß",
    "éèêëàâçùôîûïœ",
    "áéíóúñü",
    "ãõçáéíóúâêôà",
    "àèéìòù",
    "åäöæøé",
    "àçèéíïòóúü",
    "äöüéèêàâçôîû",
    "õäöüšž",
    "áðéíóúýþæö",
]
_WESTERN.append("".join({*"".join(_WESTERN)}))
_CENTRAL = ["ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíľĺňóôŕšťúýž", "áéíóöőúüű", "čćšžđ", "ăâîşţ"]
_TURKISH = ["ğışçöüâî"]
_RUSSIAN, _GREEK = ["оеаинтсрвлкм"], ["αοιετσνηυρπκ"]
_HEBREW, _ARABIC = ["יוהלארמתבשנם"], ["اليمونرتبةعد"]
_LATIN = "¡-ɏ"

# Encodings, the most frequent ones first, with the commonest characters of some languages, the
# range and the number of letters.
_ENCODINGS = {
    "cp1252": (_WESTERN, _LATIN, 100),
    "latin-1": (_WESTERN, _LATIN, 100),
    "mac-roman": (_WESTERN, _LATIN, 100),
    "cp1250": (_CENTRAL, _LATIN, 100),
    "cp1254": (_TURKISH, _LATIN, 100),
    "iso8859-2": (_CENTRAL, _LATIN, 100),
    "gb18030": ([_SIMPLIFIED], "一-鿿", 7_000),
    "cp932": ([_JAPANESE], "一-鿿", 7_000),
    "cp949": ([_KOREAN], "가-힣", 7_000),
    "cp1251": (_RUSSIAN, "Ѐ-ӿ", 60),
    "cp950": ([_TRADITIONAL], "一-鿿", 7_000),
    "koi8-r": (_RUSSIAN, "Ѐ-ӿ", 60),
    "euc-jp": ([_JAPANESE], "一-鿿", 7_000),
    "cp1253": (_GREEK, "Ͱ-Ͽ", 60),
    "cp1255": (_HEBREW, "א-ת", 60),
    "cp1256": (_ARABIC, "ء-ۿ", 60),
}


def rank_encodings(raw: bytes) -> list[str]:
    """Return encodings that a text may have, the most likely one first.

    Each place in the list of encodings costs a factor of 5. Before the best one come those earlier
    in the list with which the whole text reads the same.
    """
    first = re.search(rb"[\x80-\xff]", raw)
    start = raw.rfind(b"\n", 0, first.start()) + 1 if first else 0
    sample = raw[start : start + _SAMPLE]
    costs = {name: place * math.log(5) for place, name in enumerate(_ENCODINGS)}
    ranked = sorted(costs, key=lambda name: costs[name] - _log_likelihood(sample, name))
    signs = bytes(sorted({*raw.translate(None, bytes(range(128)))}))
    alike = list[str]()
    with contextlib.suppress(UnicodeError):  # of several bytes for a character
        text = signs.decode(ranked[0])
        alike = [name for name in _ENCODINGS if signs.decode(name, "replace") == text]
    return list(dict.fromkeys([*alike, *ranked]))


def _log_likelihood(sample: bytes, encoding: str) -> float:
    """Return the log of the probability that a text in this encoding has these characters."""
    languages, letters, n_letters = _ENCODINGS[encoding]
    text = sample.decode(encoding, "replace")
    # Capitals begin words, or make all of them, and symbols such as ³ are not inside words.
    n_wrong = sum(b.isupper() and a.islower() and not a.isascii() for a, b in pairwise(text))
    n_odd = len(_ODD.findall(text))
    text = text.lower().replace("\u0307", "")  # which Turkish capitals leave behind
    total = n_wrong * math.log(0.01) + n_odd * math.log(0.3)
    is_letter = re.compile(f"[{letters}]")

    def log_p(one: str, common: str) -> float:
        if one.isascii() or one in _MARKS:
            return math.log(0.02 if one.isascii() else 0.1 if one in _QUOTES else 0.01)
        if one in common:
            n_common = min(max(12, len(common)), 24 if letters == _LATIN else len(common))
            return math.log(0.8 / n_common)
        return math.log(0.2 / n_letters if is_letter.match(one) else 1e-6)

    counts = Counter(text).items()
    total += max(sum(count * log_p(one, common) for one, count in counts) for common in languages)
    if n_letters > 100:  # scripts in which words of ASCII follow without a space
        return total
    for word in re.findall(r"(?:[a-z]|[^\x00-\x7f])+", text):
        n_others = sum(not one.isascii() and one not in _MARKS for one in word)
        is_mixed = re.search("[a-z]", word) is not None
        # Words of Latin letters have some of ASCII, those of others have none and are longer.
        if letters == _LATIN and len(word) > 2 and not is_mixed:
            total += n_others * math.log(0.05)
        if letters != _LATIN and (len(word) == 1 or is_mixed):
            total += n_others * math.log(0.01)
    return total

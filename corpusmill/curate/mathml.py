"""Presentation MathML as TeX, for formulas whose page gives no TeX source.

Elements as in MathML 3, chapter 3. What has no spelling in TeX keeps its text. Linear in the formula; one nested above
`MAX_DEPTH` levels is left as text.
"""

from typing import Any

MAX_DEPTH = 100

_SPELLINGS = r"""
× \times   ÷ \div     · \cdot    ⋅ \cdot    ± \pm      ∓ \mp      − -        ∗ *        ∘ \circ    ° ^{\circ}
≤ \leq     ≥ \geq     ≠ \neq     ≈ \approx  ≡ \equiv   ∼ \sim     ∝ \propto  ∥ \parallel           ⊥ \perp
→ \to      ← \leftarrow          ⇒ \Rightarrow         ⇔ \Leftrightarrow     ↦ \mapsto  ↔ \leftrightarrow
∞ \infty   ∂ \partial ∇ \nabla   ∫ \int     ∮ \oint    ∑ \sum     ∏ \prod    … \ldots   ⋯ \cdots   ′ '
∈ \in      ∉ \notin   ⊂ \subset  ⊆ \subseteq           ∪ \cup     ∩ \cap     ∅ \emptyset
∀ \forall  ∃ \exists  ¬ \neg     ∧ \wedge   ∨ \vee     ℏ \hbar    ℓ \ell     ⟨ \langle  ⟩ \rangle
α \alpha   β \beta    γ \gamma   δ \delta   ε \varepsilon         ϵ \epsilon ζ \zeta    η \eta     θ \theta
ι \iota    κ \kappa   λ \lambda  μ \mu      µ \mu      ν \nu      ξ \xi      π \pi      ρ \rho     σ \sigma
τ \tau     υ \upsilon φ \varphi  ϕ \phi     χ \chi     ψ \psi     ω \omega
Γ \Gamma   Δ \Delta   Θ \Theta   Λ \Lambda  Ξ \Xi      Π \Pi      Σ \Sigma   Φ \Phi     Ψ \Psi     Ω \Omega
{ \{       } \}       % \%       # \#       & \&       $ \$       _ \_       \ \backslash
"""
_INVISIBLE = "\u2061\u2062\u2063\u2064"
_ACCENT_SPELLINGS = r"""
¯ \overline  ‾ \overline  _ \overline  ^ \hat  ˆ \hat  ~ \tilde  ˜ \tilde  → \vec  ⇀ \vec  ˙ \dot  . \dot  ¨ \ddot
"""
_FUNCTION_NAMES = (
    "arccos arcsin arctan cos cosh cot coth csc det dim exp gcd inf ker lim ln log max min sec sin sinh sup tan tanh"
)


def _pairs(table: str) -> dict[str, str]:
    words = table.split()
    return dict(zip(words[::2], words[1::2], strict=True))


_SYMBOLS = {**_pairs(_SPELLINGS), **dict.fromkeys(_INVISIBLE, ""), "\xa0": " "}
_ACCENTS = _pairs(_ACCENT_SPELLINGS)
_FUNCTIONS = frozenset(_FUNCTION_NAMES.split())
_FENCES = {"{": "\\{", "}": "\\}", "⟨": "\\langle", "⟩": "\\rangle", "": "."}
_UNREAD = frozenset(("annotation", "annotation-xml", "mphantom", "maligngroup", "malignmark"))


def mathml_to_tex(formula: Any, depth: int = 0) -> str:
    """Return the TeX of a MathML element (an lxml element; prefixes of names do not matter)."""
    name = _name(formula)
    if depth > MAX_DEPTH:
        return "".join(formula.itertext())
    if name in _UNREAD:
        return ""
    if name in ("mi", "mn", "mo", "mtext", "ms"):
        return _token(name, "".join(formula.itertext()))
    parts = [mathml_to_tex(child, depth + 1) for child in formula if isinstance(child.tag, str)]
    return _layout(name, formula, parts)


def _name(element: Any) -> str:
    return str(element.tag).rpartition("}")[2].rpartition(":")[2].lower()


def _token(name: str, text: str) -> str:
    text = " ".join(text.split())
    if name in ("mtext", "ms") and not all(letter in _SYMBOLS for letter in text):
        return f"\\text{{{text}}}"
    if text in _FUNCTIONS:
        return f"\\{text} "
    if name == "mi" and len(text) > 1 and text.isalpha() and text.isascii():
        return f"\\mathrm{{{text}}}"
    return "".join(_symbol(letter) for letter in text)


def _symbol(letter: str) -> str:
    tex = _SYMBOLS.get(letter, letter)
    return f"{tex} " if len(tex) > 1 and tex[-1].isalpha() else tex


def _layout(name: str, formula: Any, parts: list[str]) -> str:
    count = len(parts)
    if name == "mfrac" and count == 2:
        return f"\\frac{{{parts[0].strip()}}}{{{parts[1].strip()}}}"
    if name == "msqrt":
        return f"\\sqrt{{{''.join(parts).strip()}}}"
    if name == "mroot" and count == 2:
        return f"\\sqrt[{parts[1].strip()}]{{{parts[0].strip()}}}"
    if name in ("msub", "msup", "munder", "mover") and count == 2:
        return _script(name, parts)
    if name in ("msubsup", "munderover") and count == 3:
        return f"{_base(parts[0])}_{{{parts[1].strip()}}}^{{{parts[2].strip()}}}"
    if name == "mfenced":
        return _fenced(formula, parts)
    if name == "mtr":
        return " & ".join(part.strip() for part in parts)
    if name == "mtable":
        rows = " \\\\ ".join(parts)
        return f"\\begin{{matrix}} {rows} \\end{{matrix}}"
    if name == "semantics":
        return parts[0] if parts else ""
    if name == "mspace":
        return " "
    return "".join(parts) if parts else " ".join((formula.text or "").split())


def _script(name: str, parts: list[str]) -> str:
    base, script = parts[0], parts[1].strip()
    if name == "mover":
        accent = next((tex for letter, tex in _ACCENTS.items() if script == _symbol(letter).strip()), None)
        return f"{accent}{{{base.strip()}}}" if accent else f"{_base(base)}^{{{script}}}"
    return f"{_base(base)}{'^' if name == 'msup' else '_'}{{{script}}}"


def _base(tex: str) -> str:
    tex = tex.strip()
    is_one = len(tex) == 1 or (tex.startswith("\\") and tex[1:].isalpha())
    return tex if is_one else f"{{{tex}}}"


def _fenced(formula: Any, parts: list[str]) -> str:
    opening, closing = formula.get("open", "("), formula.get("close", ")")
    separators = "".join(formula.get("separators", ",").split())
    joined = (separators[:1] or "").join(parts)
    return f"\\left{_FENCES.get(opening, opening)}{joined}\\right{_FENCES.get(closing, closing)}"

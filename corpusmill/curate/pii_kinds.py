"""The kinds of personal data that patterns can tell, what stands in their place, and what a source does with each.

Out, as no pattern is honest about them: names, places, dates of birth (they need a model that reads), driver's licences and
American bank accounts (digits without form or check), Ethereum addresses (most are contracts).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

MASK, DROP, LEAVE = "mask", "drop", "leave"
ACTIONS = (MASK, DROP, LEAVE)

PLACEHOLDERS = MappingProxyType(
    {
        "private_key": "<PRIVATE_KEY>",
        "aws_key": "<AWS_KEY>",
        "github_token": "<GITHUB_TOKEN>",
        "slack_token": "<SLACK_TOKEN>",
        "google_api_key": "<GOOGLE_API_KEY>",
        "stripe_key": "<STRIPE_KEY>",
        "package_token": "<PACKAGE_TOKEN>",
        "jwt": "<JWT>",
        "secret": "<SECRET>",
        "email": "email@example.com",
        "ip_address": "192.0.2.1",
        "card": "<CARD_NUMBER>",
        "iban": "<IBAN>",
        "us_ssn": "<US_SSN>",
        "us_itin": "<US_ITIN>",
        "us_passport": "<US_PASSPORT>",
        "uk_nino": "<UK_NINO>",
        "uk_nhs": "<UK_NHS>",
        "es_nif": "<ES_NIF>",
        "it_fiscal_code": "<IT_FISCAL_CODE>",
        "fr_nir": "<FR_NIR>",
        "de_tax_id": "<DE_TAX_ID>",
        "pl_pesel": "<PL_PESEL>",
        "br_cpf": "<BR_CPF>",
        "crypto_address": "<CRYPTO_ADDRESS>",
        "phone": "<PHONE_NUMBER>",
    }
)
"""What stands instead of a span, by kind, the most severe first. Addresses get ones that are nobody's (RFC 2606, RFC 5737)."""
KINDS = tuple(PLACEHOLDERS)
IPV6_PLACEHOLDER = "2001:db8::1"
"""RFC 3849."""

PHONE_REGIONS = ("FR", "DE", "GB", "IT", "CH", "AT", "NL", "BE", "SE", "JP", "AU")
"""Countries whose national numbers begin with 0, which other numbers do not."""

_KEYS = (
    "private_key",
    "aws_key",
    "github_token",
    "slack_token",
    "google_api_key",
    "stripe_key",
    "package_token",
    "jwt",
)


@dataclass(frozen=True, kw_only=True)
class PiiPolicy:
    """What a source does with each kind: `mask` it, `drop` the document, or `leave` it, which does not look for it."""

    actions: Mapping[str, str] = field(default_factory=lambda: MappingProxyType(dict.fromkeys(KINDS, LEAVE)))
    """A kind that is not named is left."""
    phone_regions: tuple[str, ...] = PHONE_REGIONS
    """Countries (ISO 3166) whose national numbers count without a word that announces them."""

    def __post_init__(self) -> None:
        unknown = sorted(set(self.actions) - set(KINDS))
        if unknown:
            raise ValueError(f"unknown kind of personal data {', '.join(unknown)}; there are {', '.join(KINDS)}")
        for kind, action in self.actions.items():
            if action not in ACTIONS:
                raise ValueError(f"the action for {kind} must be one of {', '.join(ACTIONS)}, got {action!r}")

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds to look for."""
        return frozenset(kind for kind, action in self.actions.items() if action != LEAVE)

    def drops(self, kind: str) -> bool:
        """Return whether a document with this kind is dropped."""
        return self.actions.get(kind) == DROP


def changed_policy(base: PiiPolicy, actions: Mapping[str, str]) -> PiiPolicy:
    """Return the policy with other actions for some kinds, as a dataset's parameters name them."""
    return PiiPolicy(actions={**base.actions, **actions}, phone_regions=base.phone_regions)


WEB_PII = PiiPolicy(actions=MappingProxyType({kind: MASK for kind in KINDS if kind != "secret"}))
"""FineWeb (Penedo et al. 2024, arXiv 2406.17557, section 3.1) masks e-mail and public IP addresses; the other kinds are ours."""
CODE_PII = PiiPolicy(
    actions=MappingProxyType(dict.fromkeys((*_KEYS, "secret", "email", "iban", "card", "us_ssn"), MASK))
)
"""StarCoder (Li et al. 2023, arXiv 2305.06161, section 4) masks e-mail addresses, keys and passwords in code, and IP addresses
by a model; four numbers with dots are mostly a version there, so a pattern leaves them."""

"""trained/main_proxies: small models on variations of the mixture `main`, and the weights that they propose for it.

The design says what to train on; weights and scores of the runs are CSV files below [sources.main_proxies].
"""

from assets.mixed.mixtures import MIXTURES
from assets.proxies import component_weights, proxy_assets
from corpusmill.mix.optimise import Wish
from corpusmill.mix.proxy_design import ProxyDesign

MAIN = MIXTURES["main"]
PRIOR = component_weights(MAIN)

ASSETS = proxy_assets(
    "main_proxies",
    design=ProxyDesign(prior=PRIOR, num_mixtures=32, radius=0.8),
    wish=Wish(prior=PRIOR, max_epochs={component.name: component.max_epochs for component in MAIN.components}),
    mixture=MAIN,
)

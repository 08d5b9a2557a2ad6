"""What each of inspect's providers reads from the environment before it can be called: keys, address, and the rest.

Data alone, in the order in which inspect and the vendors' clients read it. Never reads a value; `pipeline.ready` does.
"""

import os
from dataclasses import dataclass
from typing import Literal

LAST_ADDRESS = "INSPECT_EVAL_MODEL_BASE_URL"
"""Inspect's last resort for the address of any model."""

Account = Literal["", "aws", "google"]


@dataclass(frozen=True)
class Needs:
    """The needs of one provider.

    Attributes:
        key: names of variables of which one must hold a key; the first that is set is read.
        address: names of variables that may give its address, in the order they are read.
        own: its own address where none is given; "" where one must be given or its client makes it up from a region.
        also: groups of further names; one of each group must be set.
        account: whose chain of credentials its client asks where no key is given.
        package: a package of which the client asks for a key where none is set (Microsoft's sign-in).
        starts: the program or package that serves the model on this machine where no address is given.
        loads: packages with which it loads the model into this very process, so that building it is no small thing.
    """

    key: tuple[str, ...] = ()
    address: tuple[str, ...] = ()
    own: str = ""
    also: tuple[tuple[str, ...], ...] = ()
    account: Account = ""
    package: str = ""
    starts: str = ""
    loads: tuple[str, ...] = ()

    @property
    def must_be_given(self) -> bool:
        """Whether it has no address unless one is given."""
        return bool(self.address) and not (self.own or self.account or self.starts)


def plain(name: str, own: str) -> Needs:
    """A provider with the usual names of its variables: NAME_API_KEY and NAME_BASE_URL."""
    return Needs((f"{name}_API_KEY",), (f"{name}_BASE_URL", LAST_ADDRESS), own)


def _azure(name: str, *more: str, package: str = "") -> Needs:
    keys = (f"AZUREAI_{name}_API_KEY", f"AZURE_{name}_API_KEY")
    return Needs(keys, (f"AZUREAI_{name}_BASE_URL", f"AZURE_{name}_BASE_URL", *more, LAST_ADDRESS), package=package)


NEEDS: dict[str, Needs] = {
    "openai": plain("OPENAI", "https://api.openai.com/v1"),
    "openai/azure": _azure("OPENAI", "AZURE_OPENAI_ENDPOINT", package="azure.identity"),
    "anthropic": Needs(("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY"), ("ANTHROPIC_BASE_URL", LAST_ADDRESS), "https://api.anthropic.com"),
    "anthropic/azure": _azure("ANTHROPIC"),
    "anthropic/bedrock": Needs(address=("ANTHROPIC_BEDROCK_BASE_URL", "BEDROCK_ANTHROPIC_BASE_URL", LAST_ADDRESS), account="aws"),
    "anthropic/vertex": Needs(
        address=("ANTHROPIC_VERTEX_BASE_URL", "VERTEX_ANTHROPIC_BASE_URL", LAST_ADDRESS), account="google",
        also=(("ANTHROPIC_VERTEX_REGION", "CLOUD_ML_REGION"),)),
    "google": Needs(("GOOGLE_API_KEY", "GEMINI_API_KEY"), ("GOOGLE_BASE_URL", LAST_ADDRESS), "https://generativelanguage.googleapis.com"),
    "google/vertex": Needs(("VERTEX_API_KEY",), ("GOOGLE_VERTEX_BASE_URL", "VERTEX_BASE_URL", LAST_ADDRESS), account="google",
                           also=(("GOOGLE_CLOUD_PROJECT",), ("GOOGLE_CLOUD_LOCATION",))),
    "mistral": plain("MISTRAL", "https://api.mistral.ai"),
    "mistral/azure": _azure("MISTRAL"),
    "groq": plain("GROQ", "https://api.groq.com"),
    "together": plain("TOGETHER", "https://api.together.xyz/v1"),
    "fireworks": plain("FIREWORKS", "https://api.fireworks.ai/inference/v1"),
    "openrouter": plain("OPENROUTER", "https://openrouter.ai/api/v1"),
    "perplexity": plain("PERPLEXITY", "https://api.perplexity.ai"),
    "sambanova": plain("SAMBANOVA", "https://api.sambanova.ai/v1"),
    "deepseek": plain("DEEPSEEK", "https://api.deepseek.com/v1"),
    "moonshot": plain("MOONSHOT", "https://api.moonshot.ai/v1"),
    "hf-inference-providers": Needs(("HF_TOKEN",), (), "https://router.huggingface.co/v1"),
    "grok": Needs(("XAI_API_KEY", "GROK_API_KEY"), ("XAI_BASE_URL", "GROK_BASE_URL", LAST_ADDRESS), "api.x.ai"),
    "cf": Needs(("CLOUDFLARE_API_KEY", "CLOUDFLARE_API_TOKEN"), ("CLOUDFLARE_BASE_URL", LAST_ADDRESS), "https://api.cloudflare.com",
                also=(("CLOUDFLARE_ACCOUNT_ID",),)),
    "cloudflare": Needs(("CLOUDFLARE_API_KEY", "CLOUDFLARE_API_TOKEN"), ("CLOUDFLARE_BASE_URL", LAST_ADDRESS), "https://api.cloudflare.com",
                        also=(("CLOUDFLARE_ACCOUNT_ID",),)),
    "meta": Needs(("META_API_KEY", "MODEL_API_KEY"), ("META_BASE_URL", LAST_ADDRESS), "https://api.meta.ai/v1"),
    "litellm-proxy": Needs(("LITELLM_PROXY_API_KEY", "LITELLM_API_KEY"),
                           ("LITELLM_PROXY_BASE_URL", "LITELLM_PROXY_API_BASE", "LITELLM_BASE_URL", LAST_ADDRESS)),
    "azureai": Needs(("AZURE_API_KEY", "AZUREAI_API_KEY"), package="azure.identity",
                     address=("AZURE_ENDPOINT_URL", "AZUREAI_ENDPOINT_URL", "AZUREAI_BASE_URL", LAST_ADDRESS)),
    "bedrock": Needs(address=("BEDROCK_BASE_URL", LAST_ADDRESS), account="aws"),
    "sagemaker": Needs(account="aws"),
    "ollama": Needs(address=("OLLAMA_BASE_URL", LAST_ADDRESS), own="http://localhost:11434/v1"),
    "llama-cpp-python": Needs(address=("LLAMA_CPP_PYTHON_BASE_URL", LAST_ADDRESS), own="http://localhost:8000/v1"),
    "vllm": Needs(address=("VLLM_BASE_URL",), starts="vllm"),
    "vllm-completions": Needs(address=("VLLM_BASE_URL",), starts="vllm"),
    "sglang": Needs(address=("SGLANG_BASE_URL", LAST_ADDRESS), starts="sglang"),
    "hf": Needs(loads=("torch", "transformers", "accelerate")), "transformer_lens": Needs(loads=("transformer_lens",)),
    "nnterp": Needs(loads=("nnterp",)),
    "demo": Needs(), "mockllm": Needs(), "none": Needs(),
}
"""By what a model's name begins with."""


def needs_of(name: str) -> Needs | None:
    """The needs of the model with this whole name, or None for a provider that is not known here."""
    provider, _, rest = name.partition("/")
    service = rest.partition("/")[0]
    if provider in ("openai-api", "openai-api-completions"):
        return plain(service.upper().replace("-", "_"), "")
    if provider == "google" and "/" not in rest and os.environ.get("GOOGLE_GENAI_USE_VERTEXAI", "").lower() == "true":
        service = "vertex"
    return NEEDS.get(f"{provider}/{service}") or NEEDS.get(provider)

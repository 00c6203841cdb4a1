"""One module a model: the engine settings that win on a device, found by measuring on the recipes' real prompts."""

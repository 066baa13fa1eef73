"""ct2_converter.py - CTranslate2's converter of models of transformers; shared by the scripts beside it."""
import ctranslate2


class Converter(ctranslate2.converters.TransformersConverter):
    """The converter of 4.8 wants transformers 5 or protobuf to load a model and its tokenizer; these are loaded here. options
    replace settings of the model's configuration once it is loaded; files of the model are copied."""

    def __init__(self, folder, tokenizer, options=None, files=None):
        super().__init__(folder, copy_files=files)
        self.tokenizer, self.options = tokenizer, options or {}

    def load_model(self, kind, folder, **options):
        model = kind.from_pretrained(folder)
        model.config.update(self.options)
        return model

    def load_tokenizer(self, kind, folder, **options):
        return self.tokenizer

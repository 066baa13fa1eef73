// exceptions.cpp - C++ exceptions that leave a callback pass through the library, leak nothing once the translator is
// freed, and leave the translator usable.
#include <rapt/rapt.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

int live = 0;

void *take(void *, size_t bytes)
{
    live++;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

void give_back(void *, void *memory, size_t)
{
    live--;
    std::free(memory);
}

struct stopped {
    int way;
};
enum { TRANSLATION, TOKEN, LOGITS, STOP, SCORE, WAYS };

struct leaving {
    int way = -1, calls = 0, at = 0;
    std::string text;
    void maybe_throw(int here)
    {
        if (way == here && ++calls == at) throw stopped{here};
    }
};

int on_translation(void *user, const rapt_translation *t)
{
    static_cast<leaving *>(user)->text.append(t->text, t->size).push_back('\n');
    static_cast<leaving *>(user)->maybe_throw(TRANSLATION);
    return 0;
}

int on_token(void *user, int, int32_t, float)
{
    static_cast<leaving *>(user)->maybe_throw(TOKEN);
    return 0;
}

void on_logits(void *user, int, const int32_t *, int, float *, int)
{
    static_cast<leaving *>(user)->maybe_throw(LOGITS);
}

int on_stop(void *user)
{
    static_cast<leaving *>(user)->maybe_throw(STOP);
    return 0;
}

int on_score(void *user, const rapt_text_score *)
{
    static_cast<leaving *>(user)->maybe_throw(SCORE);
    return 0;
}

const rapt_text lines[] = {{"the cat sees the dog", 20}, {"a bird sings", 12}, {"dogs sleep", 10}};

void check(rapt_status status, const rapt_message &why)
{
    if (status == RAPT_OK) return;
    std::fprintf(stderr, "%s\n", why.text);
    std::exit(1);
}

void expect(bool holds, const char *what)
{
    if (holds) return;
    std::fprintf(stderr, "%s\n", what);
    std::exit(1);
}

// Translates and scores. Returns whether an exception has left a callback.
bool work(rapt_translator *translator, leaving &l)
{
    rapt_message why;
    rapt_translate_call call;
    std::memset(&call, 0, sizeof call);
    call.size = sizeof call, call.alignments = 1;
    call.token = on_token, call.logits = on_logits, call.stop = on_stop;
    l.calls = 0;
    l.text.clear();
    try {
        check(rapt_translate_many_with(translator, lines, 3, &call, on_translation, &l, &why), why);
        check(rapt_translator_score(translator, lines, lines, 3, on_score, &l, &why), why);
    } catch (const stopped &s) {
        expect(s.way == l.way, "another exception");
        return true;
    }
    return false;
}

} // namespace

int main()
{
    rapt_message why;
    rapt_tokenizer *tokenizer = nullptr;
    rapt_model *model = nullptr;
    rapt_config config;
    std::memset(&config, 0, sizeof config);
    config.size = sizeof config;
    config.width = 16, config.heads = 2, config.ffn_width = 16, config.positions = 24;
    config.encoder_layers = config.decoder_layers = 1;
    check(rapt_tokenizer_learn(&tokenizer, lines, 3, 264, nullptr, &why), why);
    config.source_vocab = config.target_vocab = rapt_tokenizer_vocab(tokenizer);
    check(rapt_model_create(&model, &config, 1, nullptr, &why), why);
    const rapt_allocator allocator = {take, give_back, nullptr};
    for (int way = 0; way < WAYS; way++) {
        rapt_translator *translator = nullptr;
        check(rapt_translator_create(&translator, model, tokenizer, nullptr, nullptr, &allocator, &why), why);
        leaving l;
        l.way = way;
        expect(!work(translator, l), "an exception without a reason");
        const std::string before = l.text;
        const int all = l.calls;
        expect(all >= 2, "a callback is not called");
        for (l.at = 1; l.at <= all; l.at += 1 + all / 4) {
            expect(work(translator, l), "no exception");
            const int at = l.at;
            l.at = 0;
            expect(!work(translator, l) && l.text == before, "another translation after an exception");
            l.at = at;
        }
        rapt_translator_free(translator);
        expect(live == 0, "memory leaks");
    }
    rapt_model_free(model);
    rapt_tokenizer_free(tokenizer);
    return 0;
}

// plus.cpp - the headers from C++: handles in std::unique_ptr, arrays in std::vector, statuses as exceptions. Makes
// a small model, saves it in the file that its argument names, and loads it; both encode tokens to the same bits.
#include <cstdio>
#include <memory>
#include <new>
#include <rapt/rapt.h>
#include <stdexcept>
#include <vector>

template <typename T, void (*release)(T *)> struct deleter {
    void operator()(T *object) const { release(object); }
};
using model = std::unique_ptr<rapt_model, deleter<rapt_model, rapt_model_free>>;
using session = std::unique_ptr<rapt_session, deleter<rapt_session, rapt_session_free>>;

static rapt_message why;
static void ok(rapt_status status)
{
    if (status == RAPT_NO_MEMORY) throw std::bad_alloc();
    if (status != RAPT_OK) throw std::runtime_error(why.text);
}

static std::vector<float> encode(const rapt_model *of, const std::vector<int32_t> &ids)
{
    rapt_limits limits = rapt_limits();
    limits.size = sizeof limits, limits.batch = 1, limits.source_tokens = int(ids.size()), limits.target_length = 1;
    rapt_session *made;
    ok(rapt_session_create(&made, of, &limits, nullptr, &why));
    session owner(made);
    const int starts[] = {0, int(ids.size())};
    const rapt_tokens source = {1, ids.data(), starts, nullptr};
    const float *rows;
    ok(rapt_encode(made, &source, &rows, &why));
    return std::vector<float>(rows, rows + ids.size() * std::size_t(rapt_model_config(of)->width));
}

int main(int argc, char **argv)
try {
    const char *path = argc > 1 ? argv[1] : "plus.safetensors";
    rapt_config config = rapt_config();
    config.size = sizeof config;
    rapt_model *made, *loaded;
    ok(rapt_config_preset(&config, "tiny", 100, &why));
    ok(rapt_model_create(&made, &config, 1, nullptr, &why));
    model first(made);
    ok(rapt_model_save(made, path, nullptr, 0, &why));
    ok(rapt_model_load(&loaded, path, nullptr, &why));
    model second(loaded);
    const std::vector<int32_t> ids = {5, 6, 7};
    std::printf("the same bits: %s\n", encode(made, ids) == encode(loaded, ids) ? "yes" : "no");
} catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}

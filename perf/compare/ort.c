/* ort.c - the same workloads with ONNX Runtime, through its C interface: a model that compare.py
   writes (peer_ort.py), on arrays that it provides. Inputs and outputs are used in place. The
   threads of a session must not spin between runs, or they would take the processors of the next
   sample. */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include <onnxruntime_c_api.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { MAX_INPUTS = 3 };

struct work {
    OrtSession *session;
    char *input_name[MAX_INPUTS];
    OrtValue *input[MAX_INPUTS], *output;
    size_t inputs;
};

static const OrtApi *api;
static OrtEnv *environment;
static OrtMemoryInfo *plain;

static void fail(const char *why)
{
    fprintf(stderr, "error: ONNX Runtime: %s\n", why);
    exit(1);
}

static void check_ort(OrtStatus *status)
{
    if (status) fail(api->GetErrorMessage(status));
}

EXPORT const char *ort_version(void);
const char *ort_version(void)
{
    return OrtGetApiBase()->GetVersionString();
}

static void begin(void)
{
    if (api) return;
    api = OrtGetApiBase()->GetApi(ORT_API_VERSION);
    if (!api) fail("the library is older than the header that compare was built with");
    check_ort(api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "rapt", &environment));
    check_ort(api->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &plain));
}

/* Creates a session of the model, whose bytes are read before this returns. */
EXPORT struct work *ort_create(const void *model, size_t bytes, int threads);
struct work *ort_create(const void *model, size_t bytes, int threads)
{
    begin();
    struct work *w = calloc(1, sizeof *w);
    if (!w) fail("out of memory");
    OrtSessionOptions *options;
    check_ort(api->CreateSessionOptions(&options));
    check_ort(api->SetIntraOpNumThreads(options, threads));
    check_ort(api->AddSessionConfigEntry(options, "session.force_spinning_stop", "1"));
    check_ort(api->CreateSessionFromArray(environment, model, bytes, options, &w->session));
    api->ReleaseSessionOptions(options);
    return w;
}

static OrtValue *tensor(float *data, const int64_t *size, int dimensions)
{
    size_t count = 1;
    for (int i = 0; i < dimensions; i++) count *= (size_t)size[i];
    OrtValue *value;
    check_ort(api->CreateTensorWithDataAsOrtValue(plain, data, count * sizeof *data, size,
                                                  (size_t)dimensions,
                                                  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
    return value;
}

/* Binds an array, which remains the caller's; name NULL means the output. */
EXPORT void ort_bind(struct work *w, const char *name, float *data, const int64_t *size,
                     int dimensions);
void ort_bind(struct work *w, const char *name, float *data, const int64_t *size, int dimensions)
{
    OrtValue *value = tensor(data, size, dimensions);
    if (!name) {
        w->output = value;
        return;
    }
    w->input_name[w->inputs] = strdup(name);
    if (!w->input_name[w->inputs]) fail("out of memory");
    w->input[w->inputs++] = value;
}

EXPORT void ort_run(struct work *w, int times);
void ort_run(struct work *w, int times)
{
    const char *const output_name[] = {"out"};
    for (int i = 0; i < times; i++)
        check_ort(api->Run(w->session, NULL, (const char *const *)w->input_name,
                           (const OrtValue *const *)w->input, w->inputs, output_name, 1,
                           &w->output));
}

EXPORT void ort_free(struct work *w);
void ort_free(struct work *w)
{
    for (size_t i = 0; i < w->inputs; i++) {
        api->ReleaseValue(w->input[i]);
        free(w->input_name[i]);
    }
    api->ReleaseValue(w->output);
    api->ReleaseSession(w->session);
    free(w);
}

/* naive.h - textbook attention of one head, forward and backward, with queries x keys in memory and
   every sum from left to right. Included with real = float, the accuracy that the library must
   reach, and with real = double, which judges both. */

struct NAIVE(net) {
    int score, T, S, K, V, N, C, J; /* N: hidden, C: channels, J: filter width */
    const real *in[NET_ARRAYS];     /* in[NET_OUT] is dout */
    real *to[NET_ARRAYS];           /* gradients, to[NET_OUT] is out */
    real *p, *x, *qh, *kh, *dqh, *dkh, *before;
};

static real NAIVE(dot)(const real *x, const real *y, int n)
{
    real sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* Computes y = W x, W [outs][ins]. */
static void NAIVE(times)(const real *W, const real *x, int outs, int ins, real *y)
{
    for (int o = 0; o < outs; o++) y[o] = NAIVE(dot)(W + o * ins, x, ins);
}

/* Adds the gradients of W and x, given dy. */
static void NAIVE(times_back)(const real *W, const real *x, int outs, int ins, const real *dy,
                              real *dW, real *dx)
{
    for (int o = 0; o < outs; o++)
        for (int i = 0; i < ins; i++)
            dW[o * ins + i] += dy[o] * x[i], dx[i] += dy[o] * W[o * ins + i];
}

static real NAIVE(feature)(const struct NAIVE(net) * n, const real *p, int c, int s)
{
    real sum = 0;
    for (int j = 0; p && j < n->J; j++) {
        int at = s + j - n->J / 2;
        if (at >= 0 && at < n->S) sum += n->in[NET_F][c * n->J + j] * p[at];
    }
    return sum;
}

/* Returns the sum of the weights of key s in all queries before t. */
static real NAIVE(coverage)(const struct NAIVE(net) * n, int t, int s)
{
    real sum = 0;
    for (int u = 0; u < t; u++) sum += n->p[u * n->S + s];
    return sum;
}

static real NAIVE(hidden)(const struct NAIVE(net) * n, int i, int t, int s)
{
    const real *before = t ? n->p + (t - 1) * n->S : 0;
    real sum = n->qh[i] + n->kh[s * n->N + i] + n->in[NET_B][i];
    for (int c = 0; n->score == RAPT_SCORE_LOCATION_AWARE && c < n->C; c++)
        sum += n->in[NET_L][i * n->C + c] * NAIVE(feature)(n, before, c, s);
    if (n->score == RAPT_SCORE_COVERAGE) sum += n->in[NET_COVERAGE][i] * NAIVE(coverage)(n, t, s);
    return TANH(sum);
}

static real NAIVE(score)(const struct NAIVE(net) * n, int t, int s)
{
    const real *q = n->in[NET_Q] + t * n->K, *k = n->in[NET_K] + s * n->K;
    real sum = 0;
    switch (n->score) {
    case RAPT_SCORE_SCALED_DOT:
        return NAIVE(dot)(q, k, n->K) / ROOT((real)n->K);
    case RAPT_SCORE_GENERAL:
        return NAIVE(dot)(n->qh, k, n->K);
    case RAPT_SCORE_COSINE:
        return n->in[NET_BETA][0] * NAIVE(dot)(q, k, n->K) /
               (ROOT(NAIVE(dot)(q, q, n->K)) * ROOT(NAIVE(dot)(k, k, n->K)));
    case RAPT_SCORE_LOCATION:
        return NAIVE(dot)(q, n->in[NET_P] + s * n->K, n->K);
    case RAPT_SCORE_ADDITIVE:
    case RAPT_SCORE_LOCATION_AWARE:
    case RAPT_SCORE_COVERAGE:
        for (int i = 0; i < n->N; i++) sum += n->in[NET_Z][i] * NAIVE(hidden)(n, i, t, s);
        return sum;
    default:
        return NAIVE(dot)(q, k, n->K);
    }
}

/* Computes W q, if the score has W. */
static void NAIVE(project)(const struct NAIVE(net) * n, int t)
{
    int outs = n->score == RAPT_SCORE_GENERAL ? n->K : n->N;
    NAIVE(times)(n->in[NET_W], n->in[NET_Q] + t * n->K, outs, n->K, n->qh);
}

static void NAIVE(forward)(const struct NAIVE(net) * n)
{
    for (int s = 0; s < n->S; s++)
        NAIVE(times)(n->in[NET_U], n->in[NET_K] + s * n->K, n->N, n->K, n->kh + s * n->N);
    for (int t = 0; t < n->T; t++) {
        real *p = n->p + t * n->S, max = 0, sum = 0;
        NAIVE(project)(n, t);
        for (int s = 0; s < n->S; s++) {
            p[s] = NAIVE(score)(n, t, s);
            if (s == 0 || p[s] > max) max = p[s];
        }
        for (int s = 0; s < n->S; s++) sum += p[s] = EXP(p[s] - max);
        for (int s = 0; s < n->S; s++) p[s] /= sum;
        for (int i = 0; i < n->V; i++) {
            real o = 0;
            for (int s = 0; s < n->S; s++) o += p[s] * n->in[NET_V][s * n->V + i];
            n->to[NET_OUT][t * n->V + i] = o;
        }
    }
}

/* Computes the gradients of the hidden layer of one score, dx its gradient. */
static void NAIVE(hidden_back)(const struct NAIVE(net) * n, int t, int s, real dx)
{
    const real *before = t ? n->p + (t - 1) * n->S : 0;
    for (int i = 0; i < n->N; i++) {
        real h = NAIVE(hidden)(n, i, t, s), g = dx * n->in[NET_Z][i] * (1 - h * h);
        n->to[NET_Z][i] += dx * h, n->to[NET_B][i] += g;
        n->dqh[i] += g, n->dkh[s * n->N + i] += g;
        if (n->score == RAPT_SCORE_COVERAGE) {
            n->to[NET_COVERAGE][i] += g * NAIVE(coverage)(n, t, s);
            n->before[s] += g * n->in[NET_COVERAGE][i];
        }
        for (int c = 0; n->score == RAPT_SCORE_LOCATION_AWARE && c < n->C; c++) {
            n->to[NET_L][i * n->C + c] += g * NAIVE(feature)(n, before, c, s);
            for (int j = 0; before && j < n->J; j++) {
                int at = s + j - n->J / 2;
                if (at < 0 || at >= n->S) continue;
                n->to[NET_F][c * n->J + j] += g * n->in[NET_L][i * n->C + c] * before[at];
                n->before[at] += g * n->in[NET_L][i * n->C + c] * n->in[NET_F][c * n->J + j];
            }
        }
    }
}

static void NAIVE(cosine_back)(const struct NAIVE(net) * n, int t, int s, real dx)
{
    const real *q = n->in[NET_Q] + t * n->K, *k = n->in[NET_K] + s * n->K;
    real a = ROOT(NAIVE(dot)(q, q, n->K)), b = ROOT(NAIVE(dot)(k, k, n->K));
    real c = NAIVE(dot)(q, k, n->K) / (a * b);
    n->to[NET_BETA][0] += dx * c;
    for (int i = 0; i < n->K; i++) {
        n->to[NET_Q][t * n->K + i] += dx * n->in[NET_BETA][0] * (k[i] / b - c * q[i] / a) / a;
        n->to[NET_K][s * n->K + i] += dx * n->in[NET_BETA][0] * (q[i] / a - c * k[i] / b) / b;
    }
}

static void NAIVE(score_back)(const struct NAIVE(net) * n, int t, int s, real dx)
{
    const real *q = n->in[NET_Q] + t * n->K, *k = n->in[NET_K] + s * n->K;
    real *dq = n->to[NET_Q] + t * n->K, *dk = n->to[NET_K] + s * n->K;
    real scale = n->score == RAPT_SCORE_SCALED_DOT ? 1 / ROOT((real)n->K) : 1;
    if (n->score == RAPT_SCORE_COSINE) NAIVE(cosine_back)(n, t, s, dx);
    if (is_additive(n->score)) NAIVE(hidden_back)(n, t, s, dx);
    for (int i = 0; i < n->K; i++) {
        if (n->score == RAPT_SCORE_SCALED_DOT || n->score == RAPT_SCORE_DOT)
            dq[i] += scale * dx * k[i], dk[i] += scale * dx * q[i];
        if (n->score == RAPT_SCORE_GENERAL) n->dqh[i] += dx * k[i], dk[i] += dx * n->qh[i];
        if (n->score == RAPT_SCORE_LOCATION)
            dq[i] += dx * n->in[NET_P][s * n->K + i], n->to[NET_P][s * n->K + i] += dx * q[i];
    }
}

static void NAIVE(row_back)(const struct NAIVE(net) * n, int t)
{
    const real *p = n->p + t * n->S, *dout = n->in[NET_OUT] + t * n->V;
    int outs = n->score == RAPT_SCORE_GENERAL ? n->K : n->N;
    real mean = 0;
    for (int i = 0; i < n->N || i < n->K; i++) n->dqh[i] = 0;
    for (int s = 0; s < n->S; s++) {
        n->x[s] = NAIVE(dot)(dout, n->in[NET_V] + s * n->V, n->V) + n->before[s];
        if (n->score != RAPT_SCORE_COVERAGE)
            n->before[s] = 0; /* coverage also reaches the queries
                                 before */
        mean += p[s] * n->x[s];
        for (int i = 0; i < n->V; i++) n->to[NET_V][s * n->V + i] += p[s] * dout[i];
    }
    NAIVE(project)(n, t);
    for (int s = 0; s < n->S; s++) NAIVE(score_back)(n, t, s, p[s] * (n->x[s] - mean));
    if (n->score == RAPT_SCORE_GENERAL || is_additive(n->score)) NAIVE(times_back)
    (n->in[NET_W], n->in[NET_Q] + t * n->K, outs, n->K, n->dqh, n->to[NET_W],
     n->to[NET_Q] + t * n->K);
}

static void NAIVE(backward)(const struct NAIVE(net) * n)
{
    for (int t = n->T - 1; t >= 0; t--) NAIVE(row_back)(n, t);
    for (int s = 0; s < n->S && is_additive(n->score); s++) NAIVE(times_back)
    (n->in[NET_U], n->in[NET_K] + s * n->K, n->N, n->K, n->dkh + s * n->N, n->to[NET_U],
     n->to[NET_K] + s * n->K);
}

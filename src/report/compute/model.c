/* Section on the model, from the output of `info`   [METHOD 11a]
 *
 *     proportion_p = c_p mean(r) / (c_p mean(r) + d_p),   mean(r) = sum_k r_k / N
 *
 * is the share of component p that the covariates explain: c_p R0 is its signal, whose mean
 * variance over participants is c_p trace(R0)/N, and d_p its noise. A method without components
 * has none. */
#include <math.h>
#include <string.h>

#include "base/matrix.h"
#include "report/compute/internal.h"
#include "report/input/records.h"

/* Sets *out (in the arena) to the *n numbers of a JSON array, NaN for other values; *n = 0 if there
 * is no array. */
static kn_status read_numbers(kn_ctx *ctx, kn_report *r, const json_t *array, ptrdiff_t *n,
                              double **out)
{
    *n = (ptrdiff_t)json_array_size(array);
    kn_status status = kn_arena_d(ctx, &r->arena, *n, out);
    for (ptrdiff_t k = 0; status == KN_OK && k < *n; k++) {
        const json_t *x = json_array_get(array, (size_t)k);
        (*out)[k] = json_is_number(x) ? json_number_value(x) : NAN;
    }
    return status;
}

/* Copies the matrix `from` to `to`, column by column. Returns `to`. */
static double *copy_view(kn_view from, double *to)
{
    for (ptrdiff_t k = 0; k < from.rows * from.cols; k++)
        to[k] = kn_view_at(from, k % from.rows, k / from.rows);
    return to;
}

/* Copies the loss curve of the search for the number of components (number, MSLL, standard error),
 * if the model kept it. */
static kn_status copy_components_curve(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status = KN_OK;
    kn_report_model *to = &job->r->model;
    const kn_view components = kn_model_array(job->m->model, "curve.components"),
                  msll = kn_model_array(job->m->model, "curve.msll"),
                  deviation = kn_model_array(job->m->model, "curve.se");
    const ptrdiff_t n = components.rows * components.cols;
    double *values;
    if (n == 0 || !components.data || !msll.data || !deviation.data || msll.rows * msll.cols != n ||
        deviation.rows * deviation.cols != n)
        return status;
    KN_TRY(kn_arena_d(ctx, &job->r->arena, 3 * n, &values));
    to->curve_components = copy_view(components, values);
    to->curve_msll = copy_view(msll, values + n);
    to->curve_se = copy_view(deviation, values + 2 * n);
    to->curve_n = n;
out:
    return status;
}

/* Sets to->proportion, the share of each component p that the covariates explain (equation above).
 * The last of c and d may belong to the complement of the basis (MT-Kronprod), which is not a
 * component. Nothing for methods without components. */
static kn_status compute_signal_proportions(kn_ctx *ctx, const kn_report_job *job)
{
    kn_report_model *to = &job->r->model;
    const kn_model *model = job->m->model;
    const kn_view c = kn_model_array(model, "c"), d = kn_model_array(model, "d"),
                  r = kn_model_array(model, "r"), B = kn_model_array(model, "B");
    const ptrdiff_t entries = c.rows * c.cols, P = B.data ? B.cols : 0;
    const double N = kn_model_number(model, "n_samples");
    double sum = 0;
    if (!c.data || !d.data || !r.data || P < 1 || entries < P || d.rows * d.cols < P || !(N > 0))
        return KN_OK;
    for (ptrdiff_t j = 0; j < r.cols; j++)
        for (ptrdiff_t i = 0; i < r.rows; i++)
            sum += kn_view_at(r, i, j);
    kn_status status = kn_arena_d(ctx, &job->r->arena, P, &to->proportion);
    if (status != KN_OK)
        return status;
    for (ptrdiff_t p = 0; p < P; p++) {
        double signal = kn_view_at(c, p % c.rows, p / c.rows) * sum / N;
        double noise = kn_view_at(d, p % d.rows, p / d.rows);
        to->proportion[p] = signal + noise > 0 ? signal / (signal + noise) : NAN;
    }
    to->P = P;
    return KN_OK;
}

/* Copies names and weights of the kernel terms, and the length of the smooth term, from the model's
 * record. */
static kn_status copy_terms(kn_ctx *ctx, kn_report *r, json_t *info)
{
    kn_status status;
    kn_report_model *to = &r->model;
    const json_t *names = kn_json_at(info, "theta.terms");
    ptrdiff_t n = (ptrdiff_t)json_array_size(names), weights;
    void *memory;
    KN_TRY(read_numbers(ctx, r, kn_json_at(info, "theta.weights"), &weights, &to->weight));
    to->length = kn_json_number_at(info, "theta.length");
    KN_TRY(kn_arena_text(ctx, &r->arena, kn_json_text_at(info, "theta.length_units"),
                         &to->length_units));
    if (n != weights)
        goto out;
    KN_TRY(kn_arena_alloc(ctx, &r->arena, n, sizeof(char *), &memory));
    const char **name = memory;
    for (ptrdiff_t k = 0; k < n; k++) {
        const char *text = json_string_value(json_array_get(names, (size_t)k));
        KN_TRY(kn_arena_text(ctx, &r->arena, text ? kn_report_term(text) : "", &name[k]));
    }
    to->term = name;
    to->terms = n;
out:
    return status;
}

/* Sets r->model.word to the lines of the text of `info`, without leading spaces and blank lines;
 * NULL: none. */
static kn_status split_lines(kn_ctx *ctx, kn_report *r, const char *text)
{
    kn_status status = KN_OK;
    ptrdiff_t n = 0;
    void *memory, *copy;
    if (!text)
        return status;
    const ptrdiff_t size = (ptrdiff_t)strlen(text) + 1;
    for (const char *c = text; *c; c++)
        n += *c == '\n';
    KN_TRY(kn_arena_alloc(ctx, &r->arena, n + 1, sizeof(char *), &memory));
    KN_TRY(kn_arena_alloc(ctx, &r->arena, size, 1, &copy));
    const char **line = memory;
    n = 0;
    for (char *at = memcpy(copy, text, (size_t)size); at && *at;) {
        char *end = strchr(at, '\n');
        if (end)
            *end++ = '\0';
        at += strspn(at, " ");
        if (*at)
            line[n++] = at;
        at = end;
    }
    r->model.word = line;
    r->model.words = n;
out:
    return status;
}

/* Copies method, noise and likelihood of the model into the arena of the report. */
static kn_status copy_texts(kn_ctx *ctx, const kn_report_job *job, json_t *info)
{
    kn_status status;
    kn_report *r = job->r;
    kn_report_model *to = &r->model;
    KN_TRY(kn_arena_text(ctx, &r->arena, kn_json_text_at(info, "method"), &to->method));
    KN_TRY(kn_arena_text(ctx, &r->arena, kn_report_input_method(job->m, "title"), &to->title));
    KN_TRY(kn_arena_text(ctx, &r->arena, kn_report_input_method(job->m, "words"), &to->means));
    KN_TRY(kn_arena_text(ctx, &r->arena, kn_json_text_at(info, "noise"), &to->noise));
    KN_TRY(kn_arena_text(ctx, &r->arena, kn_json_text_at(info, "likelihood"), &to->likelihood));
out:
    return status;
}

kn_status kn_compute_model(kn_ctx *ctx, const kn_report_job *job)
{
    kn_status status;
    kn_report_model *to = &job->r->model;
    json_t *info = NULL;
    to->length = to->cv_z2 = to->cv_msll = to->cv_coverage95 = to->smallest_p = NAN;
    to->cv_gain = to->cv_R2 = NAN;
    to->gev[0] = to->gev[1] = to->gev[2] = NAN;
    if (!job->m->model)
        return KN_OK;
    KN_TRY(kn_json_parse(ctx, "what is known of the model", job->m->model_json, &info));
    to->known = true;
    KN_TRY(copy_texts(ctx, job, info));
    double components = kn_json_number_at(info, "n_components"),
           folds = kn_json_number_at(info, "cv.folds");
    to->components = components > 0 ? (ptrdiff_t)components : 0;
    to->folds = folds > 0 ? (int)folds : 0;
    KN_TRY(copy_components_curve(ctx, job));
    KN_TRY(compute_signal_proportions(ctx, job));
    KN_TRY(copy_terms(ctx, job->r, info));
    KN_TRY(split_lines(ctx, job->r, job->m->model_words));
    to->cv_z2 = kn_json_number_at(info, "cv.z2");
    to->cv_msll = kn_json_number_at(info, "cv.msll");
    to->cv_coverage95 = kn_json_number_at(info, "cv.coverage95");
    to->cv_gain = kn_json_number_at(info, "cv.gain");
    to->cv_R2 = kn_json_number_at(info, "cv.R2");
    to->nothing_predicted = kn_json_number_at(info, "nothing_predicted") > 0;
    to->gev[0] = kn_json_number_at(info, "gev.shape");
    to->gev[1] = kn_json_number_at(info, "gev.location");
    to->gev[2] = kn_json_number_at(info, "gev.scale");
    to->smallest_p = kn_json_number_at(info, "reference.smallest_p");
out:
    json_decref(info);
    return status;
}

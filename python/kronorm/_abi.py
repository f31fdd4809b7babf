"""What kronorm.h declares, for ctypes. Made by tools/abi from the header: do not edit."""
from ctypes import CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_float, c_int, c_size_t, c_ssize_t, c_void_p

VERSION = (0, 2, 0)

KN_OK = 0
KN_ERR_ARGUMENT = 1
KN_ERR_SHAPE = 2
KN_ERR_DATA = 3
KN_ERR_NUMERIC = 4
KN_ERR_MEMORY = 5
KN_ERR_CANCELLED = 6
KN_ERR_IO = 7
KN_ERR_FORMAT = 8


class kn_ctx(c_void_p):
    pass


KN_LOG_DETAIL = 0
KN_LOG_INFO = 1
KN_LOG_WARNING = 2


class kn_progress(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("stage", c_char_p),
        ("done", c_ssize_t),
        ("total", c_ssize_t),
        ("lml", c_double),
    ]


kn_log_fn = CFUNCTYPE(None, c_void_p, c_int, c_char_p)
kn_progress_fn = CFUNCTYPE(None, c_void_p, POINTER(kn_progress))
KN_F64 = 0
KN_F32 = 1


class kn_view(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("type", c_int),
        ("rows", c_ssize_t),
        ("cols", c_ssize_t),
        ("row_stride", c_ssize_t),
        ("col_stride", c_ssize_t),
    ]


class kn_mat(Structure):
    _fields_ = [
        ("data", POINTER(c_double)),
        ("rows", c_ssize_t),
        ("cols", c_ssize_t),
        ("ld", c_ssize_t),
    ]


class kn_options(c_void_p):
    pass


KN_OPTION_FLAG = 0
KN_OPTION_TEXT = 1
KN_OPTION_CHOICE = 2
KN_OPTION_INT = 3
KN_OPTION_NUMBER = 4
KN_OPTION_SIZE = 5
KN_OPTION_LIST = 6


class kn_option_info(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("key", c_char_p),
        ("type", c_int),
        ("letter", c_int),
        ("value", c_char_p),
        ("words", c_char_p),
        ("preferred", c_char_p),
        ("heading", c_char_p),
        ("help", c_char_p),
        ("without", c_char * 64),
        ("alias", c_char_p),
    ]


class kn_data(c_void_p):
    pass


class kn_model(c_void_p):
    pass


class kn_scores(c_void_p):
    pass


class kn_maps(c_void_p):
    pass


class kn_overlap_info(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("participants", c_ssize_t),
        ("excluded", c_ssize_t),
        ("groups", c_ssize_t),
        ("responses", c_ssize_t),
        ("files", c_ssize_t),
        ("least_p", c_double * 2),
        ("least_p_fdr", c_double * 2),
        ("below", c_ssize_t * 2),
        ("below_fdr", c_ssize_t * 2),
    ]


class kn_change_info(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("participants", c_ssize_t),
        ("one_visit", c_ssize_t),
        ("pairs", c_ssize_t),
        ("responses", c_ssize_t),
        ("files", c_ssize_t),
        ("reference_participants", c_ssize_t),
        ("reference_pairs", c_ssize_t),
        ("far", c_ssize_t),
        ("with_p", c_ssize_t),
        ("flagged", c_ssize_t),
        ("gamma", c_double),
        ("d0", c_double),
        ("s0", c_double),
        ("smallest_p", c_double),
        ("expected", c_double),
    ]


class kn_export_info(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("points", c_ssize_t),
        ("few", c_ssize_t),
        ("mean", c_double),
        ("sd", c_double),
        ("mean_between", c_double),
        ("sd_between", c_double),
        ("mean_beyond", c_double),
        ("sd_beyond", c_double),
        ("findable", c_ssize_t),
        ("leverage", c_double),
        ("leverage_left", c_double),
        ("blurred", c_ssize_t),
        ("mean_blurred", c_double),
        ("sd_blurred", c_double),
    ]


class kn_centiles_info(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("responses", c_ssize_t),
        ("curves", c_ssize_t),
        ("values", c_ssize_t),
        ("centiles", c_ssize_t),
        ("participants", c_ssize_t),
        ("files", c_ssize_t),
        ("bands", c_int),
        ("n_extrapolated", c_ssize_t),
    ]


class kn_cv_info(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("participants", c_ssize_t),
        ("folds", c_ssize_t),
        ("responses", c_ssize_t),
        ("files", c_ssize_t),
        ("adapted", c_ssize_t),
        ("test", c_ssize_t),
        ("R2", c_double),
        ("MSLL", c_double),
        ("z2", c_double),
        ("adapted_MSLL", c_double),
        ("adapted_z2", c_double),
        ("AUC", c_double),
        ("AUC_deviance", c_double),
        ("joint_density", c_double),
        ("gain", c_double),
        ("adapted_gain", c_double),
    ]


class kn_report(c_void_p):
    pass


class kn_report_info(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("participants", c_ssize_t),
        ("responses", c_ssize_t),
        ("warnings", c_ssize_t),
        ("cards", c_ssize_t),
        ("cards_asked", c_ssize_t),
        ("bytes", c_ssize_t),
        ("figures", c_ssize_t),
        ("change", c_int),
    ]

FUNCTIONS = {
    "kn_version": (c_char_p, []),
    "kn_status_name": (c_char_p, [c_int]),
    "kn_ctx_new": (kn_ctx, []),
    "kn_ctx_free": (None, [kn_ctx]),
    "kn_message": (c_char_p, [kn_ctx]),
    "kn_set_log": (None, [kn_ctx, kn_log_fn, c_void_p]),
    "kn_set_progress": (None, [kn_ctx, kn_progress_fn, c_void_p]),
    "kn_set_threads": (None, [kn_ctx, c_int]),
    "kn_threads": (c_int, [kn_ctx]),
    "kn_set_memory": (None, [kn_ctx, c_size_t]),
    "kn_memory": (c_size_t, [kn_ctx]),
    "kn_cancel": (None, [kn_ctx]),
    "kn_cancel_clear": (None, [kn_ctx]),
    "kn_view_cols": (kn_view, [POINTER(c_double), c_ssize_t, c_ssize_t]),
    "kn_view_rows": (kn_view, [POINTER(c_double), c_ssize_t, c_ssize_t]),
    "kn_view_rows_f32": (kn_view, [POINTER(c_float), c_ssize_t, c_ssize_t]),
    "kn_mat_cols": (kn_mat, [POINTER(c_double), c_ssize_t, c_ssize_t]),
    "kn_mat_none": (kn_mat, []),
    "kn_options_new": (c_int, [kn_ctx, c_char_p, POINTER(kn_options)]),
    "kn_options_set": (c_int, [kn_ctx, kn_options, c_char_p, c_char_p]),
    "kn_options_get": (c_char_p, [kn_options, c_char_p]),
    "kn_options_check": (c_int, [kn_ctx, kn_options]),
    "kn_options_free": (None, [kn_options]),
    "kn_options_count": (c_int, [c_char_p]),
    "kn_option_at": (c_int, [kn_ctx, c_char_p, c_int, POINTER(kn_option_info)]),
    "kn_data_new": (c_int, [kn_ctx, c_ssize_t, POINTER(kn_data)]),
    "kn_data_numbers": (c_int, [kn_ctx, kn_data, c_char_p, POINTER(c_double), c_ssize_t]),
    "kn_data_texts": (c_int, [kn_ctx, kn_data, c_char_p, POINTER(c_char_p)]),
    "kn_data_ids": (c_int, [kn_ctx, kn_data, POINTER(c_char_p)]),
    "kn_data_responses": (c_int, [kn_ctx, kn_data, kn_view, POINTER(c_char_p)]),
    "kn_data_read": (c_int, [kn_ctx, kn_options, POINTER(kn_data)]),
    "kn_responses_table": (c_int, [kn_ctx, kn_options, POINTER(c_void_p)]),
    "kn_data_count": (c_ssize_t, [kn_data]),
    "kn_data_free": (None, [kn_data]),
    "kn_fit": (c_int, [kn_ctx, kn_data, kn_options, POINTER(kn_model)]),
    "kn_model_free": (None, [kn_model]),
    "kn_model_save": (c_int, [kn_ctx, kn_model, c_char_p, c_int]),
    "kn_model_open": (c_int, [kn_ctx, c_char_p, POINTER(kn_model)]),
    "kn_model_to_bytes": (c_int, [kn_ctx, kn_model, POINTER(c_void_p), POINTER(c_size_t)]),
    "kn_model_from_bytes": (c_int, [kn_ctx, c_void_p, c_size_t, POINTER(kn_model)]),
    "kn_bytes_free": (None, [c_void_p]),
    "kn_model_json": (c_int, [kn_ctx, kn_model, POINTER(c_void_p)]),
    "kn_model_words": (c_int, [kn_ctx, kn_model, POINTER(c_void_p)]),
    "kn_text_free": (None, [c_void_p]),
    "kn_model_number": (c_double, [kn_model, c_char_p]),
    "kn_model_text": (c_char_p, [kn_model, c_char_p]),
    "kn_model_array": (kn_view, [kn_model, c_char_p]),
    "kn_model_kept": (c_ssize_t, [kn_model, POINTER(POINTER(c_ssize_t))]),
    "kn_model_ids": (POINTER(c_char_p), [kn_model]),
    "kn_model_response_names": (POINTER(c_char_p), [kn_model]),
    "kn_model_voxels": (c_ssize_t, [kn_model, POINTER(POINTER(c_ssize_t))]),
    "kn_model_reference": (c_ssize_t, [kn_model, POINTER(POINTER(c_ssize_t))]),
    "kn_model_noise": (c_int, [kn_ctx, kn_model, POINTER(c_double)]),
    "kn_score": (c_int, [kn_ctx, kn_model, kn_data, kn_options, POINTER(kn_scores)]),
    "kn_predict": (c_int, [kn_ctx, kn_model, kn_data, kn_options, POINTER(kn_scores)]),
    "kn_scores_free": (None, [kn_scores]),
    "kn_scores_n_participants": (c_ssize_t, [kn_scores]),
    "kn_scores_n_responses": (c_ssize_t, [kn_scores]),
    "kn_scores_ids": (POINTER(c_char_p), [kn_scores]),
    "kn_scores_participants": (POINTER(c_double), [kn_scores, c_char_p]),
    "kn_scores_responses": (POINTER(c_double), [kn_scores, c_char_p]),
    "kn_scores_number": (c_double, [kn_scores, c_char_p]),
    "kn_scores_json": (c_char_p, [kn_scores]),
    "kn_scores_array": (kn_view, [kn_scores, c_char_p]),
    "kn_scores_block": (c_int, [kn_ctx, kn_scores, c_char_p, c_ssize_t, c_ssize_t, kn_mat]),
    "kn_build_blas": (c_char_p, []),
    "kn_build_core": (c_char_p, []),
    "kn_build_better_core": (c_char_p, []),
    "kn_maps_predict": (c_int, [kn_ctx, kn_model, kn_view, POINTER(kn_maps)]),
    "kn_maps_loo": (c_int, [kn_ctx, kn_model, kn_view, POINTER(kn_maps)]),
    "kn_maps_cv": (c_int, [kn_ctx, kn_model, kn_view, c_int, POINTER(c_int), POINTER(kn_maps)]),
    "kn_maps_block": (c_int, [kn_ctx, kn_maps, c_ssize_t, c_ssize_t, kn_mat, kn_mat]),
    "kn_maps_samples": (c_ssize_t, [kn_maps]),
    "kn_maps_free": (None, [kn_maps]),
    "kn_covariance": (c_int, [kn_ctx, kn_model, kn_view, POINTER(c_ssize_t), c_ssize_t, kn_mat, kn_mat]),
    "kn_adapt": (c_int, [kn_ctx, kn_model, kn_data, kn_options, POINTER(kn_model)]),
    "kn_overlap": (c_int, [kn_ctx, kn_options, POINTER(kn_overlap_info)]),
    "kn_change": (c_int, [kn_ctx, kn_model, kn_data, kn_options, POINTER(kn_change_info)]),
    "kn_export": (c_int, [kn_ctx, kn_model, kn_options, POINTER(kn_export_info)]),
    "kn_centiles": (c_int, [kn_ctx, kn_model, kn_data, kn_data, kn_options, POINTER(kn_centiles_info)]),
    "kn_cv": (c_int, [kn_ctx, kn_data, kn_options, POINTER(kn_cv_info)]),
    "kn_report_compute": (c_int, [kn_ctx, kn_model, kn_options, POINTER(kn_report)]),
    "kn_report_json": (c_int, [kn_ctx, kn_report, POINTER(c_char_p)]),
    "kn_report_write": (c_int, [kn_ctx, kn_report, kn_options, POINTER(kn_report_info)]),
    "kn_report_free": (None, [kn_report]),
}

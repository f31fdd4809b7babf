/* Implements voxel_types.h: one set of conversion loops per type and byte order, made by macros.
 * The type code of the header selects the loop. */
#include "io/image/voxel_types.h"

#include "io/file/byte_order.h"

static inline uint8_t load_byte(const unsigned char *p, bool swap)
{
    (void)swap;
    return *p;
}

/* Three loops per type and byte order. Both are compile-time constants in each loop, so that an
 * iteration is a load, a conversion and a store. */
#define LOOPS(NAME, TYPE, LOAD, SWAP)                                                              \
    static void NAME##_floats_##SWAP(const unsigned char *raw, ptrdiff_t first, ptrdiff_t stride,  \
                                     ptrdiff_t n, double slope, double inter, float *out)          \
    {                                                                                              \
        ptrdiff_t size = (ptrdiff_t)sizeof(TYPE);                                                  \
        for (ptrdiff_t i = 0; i < n; i++) {                                                        \
            double x = (double)(TYPE)LOAD(raw + (first + i * stride) * size, SWAP);                \
            out[i] = (float)(slope * x + inter);                                                   \
        }                                                                                          \
    }                                                                                              \
    static void NAME##_gather_##SWAP(const unsigned char *raw, ptrdiff_t first, ptrdiff_t stride,  \
                                     const ptrdiff_t *index, ptrdiff_t n, double slope,            \
                                     double inter, float *out)                                     \
    {                                                                                              \
        ptrdiff_t size = (ptrdiff_t)sizeof(TYPE);                                                  \
        for (ptrdiff_t i = 0; i < n; i++) {                                                        \
            double x = (double)(TYPE)LOAD(raw + (first + index[i] * stride) * size, SWAP);         \
            out[i] = (float)(slope * x + inter);                                                   \
        }                                                                                          \
    }                                                                                              \
    static void NAME##_doubles_##SWAP(const unsigned char *raw, ptrdiff_t n, double *out)          \
    {                                                                                              \
        ptrdiff_t size = (ptrdiff_t)sizeof(TYPE);                                                  \
        for (ptrdiff_t i = 0; i < n; i++)                                                          \
            out[i] = (double)(TYPE)LOAD(raw + i * size, SWAP);                                     \
    }

/* clang-format off */
#define TYPES(DO)                                                                                  \
    DO(uint8,   uint8_t,  load_byte,       KN_VOXEL_UINT8)                                             \
    DO(int8,    int8_t,   load_byte,       KN_VOXEL_INT8)                                              \
    DO(int16,   int16_t,  kn_load16,   KN_VOXEL_INT16)                                             \
    DO(uint16,  uint16_t, kn_load16,   KN_VOXEL_UINT16)                                            \
    DO(int32,   int32_t,  kn_load32,   KN_VOXEL_INT32)                                             \
    DO(uint32,  uint32_t, kn_load32,   KN_VOXEL_UINT32)                                            \
    DO(int64,   int64_t,  kn_load64,   KN_VOXEL_INT64)                                             \
    DO(uint64,  uint64_t, kn_load64,   KN_VOXEL_UINT64)                                            \
    DO(float32, float,    kn_load_f32, KN_VOXEL_FLOAT32)                                           \
    DO(float64, double,   kn_load_f64, KN_VOXEL_FLOAT64)
/* clang-format on */

#define BOTH_ORDERS(NAME, TYPE, LOAD, CODE) LOOPS(NAME, TYPE, LOAD, 0) LOOPS(NAME, TYPE, LOAD, 1)
TYPES(BOTH_ORDERS)

#define ROW(NAME, TYPE, LOAD, CODE)                                                                \
    {CODE,                                                                                         \
     (int)sizeof(TYPE),                                                                            \
     #NAME,                                                                                        \
     {NAME##_floats_0, NAME##_floats_1},                                                           \
     {NAME##_gather_0, NAME##_gather_1},                                                           \
     {NAME##_doubles_0, NAME##_doubles_1}},

static const kn_voxel_type types[] = {TYPES(ROW)};

const kn_voxel_type *kn_voxel_type_find(int code)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].code == code)
            return &types[i];
    return NULL;
}

const char *kn_voxel_type_name(int code)
{
    static const struct {
        int code;
        const char *name;
    } others[] = {{1, "binary"},        {32, "complex64"},    {128, "RGB24"},  {1536, "float128"},
                  {1792, "complex128"}, {2048, "complex256"}, {2304, "RGBA32"}};
    const kn_voxel_type *type = kn_voxel_type_find(code);
    if (type)
        return type->name;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i].code == code)
            return others[i].name;
    return "unknown";
}

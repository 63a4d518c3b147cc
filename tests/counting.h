/* counting.h -- a real that counts its multiplications (C++)
 *
 * The sources of naive/ are compiled a second time, as C++, with this class in
 * the place of real (reference/real.h asks for it) and nothing else changed:
 *
 *     g++ -x c++ -std=gnu++17 -fpermissive -w -fno-exceptions -fno-rtti
 *         -DCOUNTING_REAL='"../tests/counting.h"' -c naive/lisa.c
 *
 * The class is laid out as the float or double that it stands for, so both
 * compilations share arrays and the functions of reference/.  It needs nothing
 * of the C++ library: a C compiler can link it.  One thread at a time. */

#ifndef TWICETOLD_TESTS_COUNTING_H
#define TWICETOLD_TESTS_COUNTING_H

#ifdef TWICETOLD_DOUBLE
typedef double plain_real;
#else
typedef float plain_real;
#endif

struct real {
    plain_real number;

    static unsigned long long multiplications;

    real() = default;                               /* uninitialised, as in C */
    real(double value) : number((plain_real)value) {}
    explicit operator double() const { return number; }

    real operator-() const { return real(-(double)number); }
    real &operator+=(real b) { number += b.number; return *this; }
    real &operator-=(real b) { number -= b.number; return *this; }
    real &operator*=(real b) { multiplications++; number *= b.number; return *this; }
    real &operator/=(real b) { number /= b.number; return *this; }
};

static_assert(sizeof(real) == sizeof(plain_real) && alignof(real) == alignof(plain_real), "same layout");

inline real operator+(real a, real b) { a += b; return a; }
inline real operator-(real a, real b) { a -= b; return a; }
inline real operator*(real a, real b) { a *= b; return a; }
inline real operator/(real a, real b) { a /= b; return a; }
inline bool operator<(real a, real b) { return a.number < b.number; }
inline bool operator>(real a, real b) { return a.number > b.number; }

/* Counted twins beside the ordinary functions: what naive/ defines. */
#define attention_naive counting_attention_naive
#define attention_naive_toeplitz counting_attention_naive_toeplitz
#define lisa_naive counting_lisa_naive
#define lisa_toeplitz counting_lisa_toeplitz
#define lisa_naive_eq4 counting_lisa_naive_eq4
#define lisa_naive_eq5 counting_lisa_naive_eq5
#define lisa_naive_fig6 counting_lisa_naive_fig6
#define lisa_naive_eq7 counting_lisa_naive_eq7
#define lisa_naive_eq10 counting_lisa_naive_eq10
#define msa_naive counting_msa_naive
#define elsa_naive counting_elsa_naive
#define fc_naive counting_fc_naive
#define fc_naive_apply counting_fc_naive_apply
#define dfc_cp_naive counting_dfc_cp_naive
#define dfc_naive_tensor counting_dfc_naive_tensor
#define dfc_naive_apply counting_dfc_naive_apply
#define chopd_naive counting_chopd_naive
#define chopd_naive_overlap counting_chopd_naive_overlap
#define chopd_naive_pooling counting_chopd_naive_pooling
#define chopd_naive_mixing counting_chopd_naive_mixing
#define chopd_naive_larger counting_chopd_naive_larger
#define chopd_naive_tensor counting_chopd_naive_tensor
#define elsa_image_reals counting_elsa_image_reals
#define elsa_image_place counting_elsa_image_place
#define elsa_naive_product counting_elsa_naive_product
#define elsa_naive_logits counting_elsa_naive_logits
#define elsa_naive_final_logits counting_elsa_naive_final_logits
#define elsa_naive_softmax counting_elsa_naive_softmax
#define elsa_naive_filters counting_elsa_naive_filters
#define elsa_naive_apply counting_elsa_naive_apply
#define elsa_naive_unified counting_elsa_naive_unified
#define hilo_naive counting_hilo_naive
#define hilo_naive_pad counting_hilo_naive_pad
#define hilo_naive_mask counting_hilo_naive_mask
#define hilo_naive_pool counting_hilo_naive_pool
#define hilo_naive_carry counting_hilo_naive_carry
#define hilo_naive_spread counting_hilo_naive_spread
#define hilo_naive_crop counting_hilo_naive_crop
#define hilo_naive_head counting_hilo_naive_head
#define sra_naive counting_sra_naive
#define sra_naive_convolve counting_sra_naive_convolve
#define structsa_naive counting_structsa_naive
#define structsa_naive_correlate counting_structsa_naive_correlate
#define structsa_naive_attend counting_structsa_naive_attend
#define structsa_naive_kernels counting_structsa_naive_kernels
#define structsa_naive_aggregate counting_structsa_naive_aggregate
#define structsa_naive_merge counting_structsa_naive_merge
#define structsa_head_reals counting_structsa_head_reals
#define structsa_head_place counting_structsa_head_place

#endif

/* device_host.cc -- a device whose memory is the processor's; see device.h
 *
 * Its arrays are the plan's own room: one of reals, and one of traces that the emulator
 * finds races by.  The library's linear map is the sum as it is written, its Fourier
 * transform FFTW's.  Two branches run one after the other, in an order that the seed draws. */

#include "device.h"

void device_reals(struct plan *plan, array<real> *where, const char *name, size_t a, size_t b, size_t c, size_t d)
{
    struct device *on = (struct device *)plan->state;
    if (on->arrays == DEVICE_ARRAYS)
        return room_refuse(&plan->room, failure("%s: more than %d arrays", name, DEVICE_ARRAYS));
    room_reals(&plan->room, OF_LOAD, &where->base, name, a, b, c, d);
    size_t count = 0, bytes;
    bool fits = size_multiply(&count, a, b) && size_multiply(&count, count, c) && size_multiply(&count, count, d) &&
                size_multiply(&bytes, count, emulator::words(sizeof(real)));
    room_objects(&plan->room, OF_LOAD, &where->traces, name, fits ? bytes : SIZE_MAX, 1, sizeof(emulator::trace));
    where->count = fits ? count : 0;
    where->at = 0;
    on->held[on->arrays++] = {where, where->count * sizeof(real), name};
}

void device_place(struct device *d)
{
    for (int n = 0; n < d->arrays; n++) {
        array<real> *a = (array<real> *)d->held[n].where;
        if (a->base) memset(a->base, 0xff, a->count * sizeof(real));     /* NaN until it is written */
        if (a->traces) memset((void *)a->traces, 0, a->count * emulator::words(sizeof(real)) * sizeof(emulator::trace));
    }
}

void device_release(struct device *d)
{
    for (struct fft &f : d->fourier) fft_release(&f);
}

/* While there are two branches: notes what the library does to so many reals, and refuses
 * what the other branch does to them too. */
static void library(struct device *d, array<const real> a, size_t count, bool write)
{
    constexpr size_t words = emulator::words(sizeof(real));
    if (!d->apart || d->refusal.code || !a) return;
    if (emulator::library_access(a.traces + a.at * words, count * words, write)) return;
    const char *name = "an array";
    for (int n = 0; n < d->arrays; n++)
        if (((array<real> *)d->held[n].where)->base == a.base) name = d->held[n].name;
    d->refusal = failure("%s: the library %s what the other branch %s, and no join between", name,
                         write ? "writes" : "reads", write ? "reads or writes" : "writes");
}

void device_fork(struct plan *plan, void (*branch)(struct plan *))
{
    struct device *d = (struct device *)plan->state;
    if (!device_parts(d)) return;
    emulator::fork();
    d->late_of = plan;
    if (emulator::branch_is_late()) {
        d->late = branch;
        return;
    }
    branch(plan);
    emulator::turn();
}

void device_join(struct device *d)
{
    if (d->late) {
        emulator::turn();
        d->late(d->late_of);
    }
    d->late = nullptr;
    d->apart = false;
    emulator::join();
}

void device_upload(struct device *d, array<real> to, const real *from, size_t count)
{
    if (!from || !count) return;
    library(d, to, count, true);
    memcpy(to.base + to.at, from, count * sizeof(real));
}

void device_download(struct device *d, real *to, array<const real> from, size_t count)
{
    library(d, from, count, false);
    if (!d->refusal.code) memcpy(to, from.base + from.at, count * sizeof(real));
}

void device_linear(struct device *d, array<real> y, array<const real> x, array<const real> w, array<const real> b,
                   size_t rows, size_t in, size_t out)
{
    library(d, x, rows * in, false);
    library(d, w, in * out, false);
    library(d, b, out, false);
    library(d, y, rows * out, true);
    if (d->refusal.code) return;
    for (size_t r = 0; r < rows; r++)
        for (size_t o = 0; o < out; o++) {
            const real *x_r = x.base + x.at + r * in, *w_o = w.base + w.at + o * in;
            real sum = b ? b.base[b.at + (long long)o] : 0;
            for (size_t i = 0; i < in; i++) sum += x_r[i] * w_o[i];
            y.base[y.at + (long long)(r * out + o)] = sum;
        }
}

/* Number (row, column) of a factor with so many rows and columns. */
static real entry(const real *at, bool transposed, size_t rows, size_t columns, size_t row, size_t column)
{
    return transposed ? at[column * rows + row] : at[row * columns + column];
}

void device_product(struct device *d, array<real> y, const struct device_factor &a, const struct device_factor &b,
                    size_t rows, size_t inner, size_t columns, size_t batch)
{
    library(d, a.at, (batch - 1) * a.step + rows * inner, false);
    library(d, b.at, (batch - 1) * b.step + inner * columns, false);
    library(d, y, batch * rows * columns, true);
    if (d->refusal.code) return;
    for (size_t n = 0; n < batch; n++) {
        const real *a_n = a.at.base + a.at.at + n * a.step, *b_n = b.at.base + b.at.at + n * b.step;
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < columns; c++) {
                real sum = 0;
                for (size_t i = 0; i < inner; i++)
                    sum += entry(a_n, a.transposed, rows, inner, r, i) * entry(b_n, b.transposed, inner, columns, i, c);
                y.base[y.at + (long long)((n * rows + r) * columns + c)] = sum;
            }
    }
}

/* FFTW plans with the points themselves, in load, and works in memory of its own. */
void device_fourier_reals(struct plan *, int, int, const size_t *, size_t) {}

void device_fourier_load(struct device *d, int which, array<real> points, int axes, const size_t *size, size_t signals)
{
    if (!d->refusal.code) d->refusal = fft_load(&d->fourier[which], axes, size, signals, points.base);
}

void device_fourier(struct device *d, int which, array<real> points, bool inverse)
{
    library(d, points, points.count, true);
    if (!d->refusal.code) fft_run(&d->fourier[which], points.base, inverse);
}

size_t device_shared_bytes(int blocks) { return emulator::shared_most(blocks); }
int device_capability(void) { return emulator::capability(); }

status device_status(struct device *d)
{
    if (d->apart) device_join(d);
    status s = d->refusal;
    d->refusal = status_ok();
    return s;
}

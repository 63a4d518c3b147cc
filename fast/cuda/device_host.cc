/* device_host.cc -- the emulated device, in the processor's memory; see device.h
 *
 * An array is two arrays of the plan's arena: its reals, and the traces by which the emulator finds races.  Products
 * are plain loops, Fourier transforms FFTW's.  Two branches run one after the other, in either order. */

#include "device.h"

void device_array(struct device *d, array<real> *where, const char *name, const real *const *from, size_t count)
{
    struct arena *arena = &d->plan->arena;
    size_t words;
    if (d->arrays == DEVICE_ARRAYS) return arena_fail(arena, failure("%s: more than %d arrays", name, DEVICE_ARRAYS));
    if (!size_multiply(&words, count, emulator::words(sizeof(real)))) words = SIZE_MAX;
    arena_reals(arena, PERSISTENT, &where->base, name, count);
    arena_objects(arena, PERSISTENT, &where->traces, name, words, 1, sizeof(emulator::trace));
    where->count = count;
    where->at = 0;
    d->held[d->arrays++] = {where, count * sizeof(real), name, from};
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

/* With two branches: records what the library reads or writes; an error if that races with the other branch. */
static void library(struct device *d, reals a, size_t count, bool write)
{
    constexpr size_t words = emulator::words(sizeof(real));
    if (!d->forked || d->error.code || !a) return;
    if (emulator::library_access(a.traces + a.at * words, count * words, write)) return;
    const char *name = "an array";
    for (int n = 0; n < d->arrays; n++)
        if (((array<real> *)d->held[n].where)->base == a.base) name = d->held[n].name;
    d->error = failure("%s: the library %s what the other branch %s, and no join between", name,
                         write ? "writes" : "reads", write ? "reads or writes" : "writes");
}

void device_fork(struct plan *plan, void (*branch)(struct plan *))
{
    struct device *d = (struct device *)plan->state;
    if (!device_begins_branches(d)) return;
    emulator::fork();
    d->plan = plan;
    if (emulator::branch_is_late()) {
        d->late = branch;
        return;
    }
    branch(plan);
    emulator::next_branch();
}

void device_join(struct device *d)
{
    if (d->late) {
        emulator::next_branch();
        d->late(d->plan);
    }
    d->late = nullptr;
    d->forked = false;
    emulator::join();
}

void device_upload(struct device *d, array<real> to, const real *from, size_t count)
{
    if (!from || !count) return;
    library(d, to, count, true);
    memcpy(to.base + to.at, from, count * sizeof(real));
}

void device_download(struct device *d, real *to, reals from, size_t count)
{
    library(d, from, count, false);
    if (!d->error.code) memcpy(to, from.base + from.at, count * sizeof(real));
}

void device_linear(struct device *d, array<real> y, reals x, reals w, reals b, size_t rows, size_t in, size_t out)
{
    library(d, x, rows * in, false);
    library(d, w, in * out, false);
    library(d, b, out, false);
    library(d, y, rows * out, true);
    if (d->error.code) return;
    for (size_t r = 0; r < rows; r++)
        for (size_t o = 0; o < out; o++) {
            const real *x_r = x.base + x.at + r * in, *w_o = w.base + w.at + o * in;
            real sum = b ? b.base[b.at + (long long)o] : 0;
            for (size_t i = 0; i < in; i++) sum += x_r[i] * w_o[i];
            y.base[y.at + (long long)(r * out + o)] = sum;
        }
}

/* Entry (row, column) of a factor of rows x columns. */
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
    if (d->error.code) return;
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

/* Declares nothing: FFTW plans in load, with the points themselves, and manages its own memory. */
void device_fourier_reals(struct device *, int, int, const size_t *, size_t) {}

void device_fourier_load(struct device *d, int which, array<real> points, int axes, const size_t *size, size_t signals)
{
    if (!d->error.code) d->error = fft_load(&d->fourier[which], axes, size, signals, points.base);
}

void device_fourier(struct device *d, int which, array<real> points, bool inverse)
{
    library(d, points, points.count, true);
    if (!d->error.code) fft_run(&d->fourier[which], points.base, inverse);
}

size_t device_shared_bytes(int blocks) { return emulator::shared_most(blocks); }
int device_capability(void) { return emulator::capability(); }

status device_status(struct device *d)
{
    if (d->forked) device_join(d);
    status s = d->error;
    d->error = status_ok();
    return s;
}

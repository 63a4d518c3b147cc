/* spectrum.c -- the command that takes the spectrum of a feature map */

#include "log_spectrum.h"
#include "command.h"

static status spectrum_of_file(const struct call *c)
{
    struct tensors file;
    struct tensor out = {0};
    char found[120];
    status s = tensor_file_read(&file, c->input[0], "y");
    if (s.code) return s;
    const struct tensor *y = tensors_find(&file, "y");
    if (!y || file.count != 1)
        s = bad_input("tensor y: found %zu tensors%s, expected y alone", file.count, y ? "" : " and not y");
    else if (y->axes != 4)
        s = bad_input("tensor y: found %s, expected [B, H, W, C]", shape_text(found, sizeof found, y->axes, y->size));
    else if (!(s = tensor_create(&out, "y", 3, (size_t[]){y->size[3], y->size[1], y->size[2]})).code)
        s = spectrum(out.data, y->data, y->size[0], y->size[1], y->size[2], y->size[3]);
    if (!s.code) s = tensor_file_write(c->output, &out, 1);
    tensor_release(&out);
    tensors_release(&file);
    return s;
}

static const struct option no_options[] = {{0}};

const struct command spectrum_command = {
    .declaration = {.name = "spectrum", .summary = "write the logarithmic spectrum of a feature map y [B, H, W, C]",
            .options = no_options},
    .what = "log |Fourier transform| of each channel, the zero frequency in the middle, averaged over the batch.",
    .inputs = {"INPUT.safetensors"},
    .output = true,
    .run = spectrum_of_file,
};

/* devices.c -- find forms by name, on a device too; see devices.h */

#define _GNU_SOURCE

#include "devices.h"
#include "../../fast/cuda/counts.h"
#include "../networks/operators.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libtwicetold-cuda.so"

bool program_file(char *path, size_t size, const char *const *places)
{
    char program[2048];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(program, '/');
    if (slash) *slash = '\0';
    for (; *places; places++) {
        snprintf(path, size, "%s/%s", program, *places);
        if (access(path, R_OK) == 0) return true;
    }
    return false;
}

/* Finds the path of the plug-in; false if there is none. */
static bool find(char *path, size_t size)
{
    const char *given = getenv("TWICETOLD_CUDA");
    if (given) snprintf(path, size, "%s", given);
    return given ? access(path, R_OK) == 0
                 : program_file(path, size, (const char *const[]){LIBRARY, "../lib/" LIBRARY, NULL});
}

static status load(const struct cuda_plugin **plugin)
{
    char path[2200];
    const struct cuda_plugin *(*entry)(void) = NULL;
    if (!find(path, sizeof path))
        return failure("%s is not beside the program, nor where TWICETOLD_CUDA says", LIBRARY);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "twicetold_cuda_plugin") : NULL;
    if (!symbol) {
        const char *why = dlerror();
        return failure("%.120s", why ? why : path);
    }
    memcpy(&entry, &symbol, sizeof entry);      /* ISO C does not convert void * to a function pointer */
    *plugin = entry();
    if ((*plugin)->real_bytes != sizeof(real) || (*plugin)->plan_bytes != sizeof(struct plan))
        return failure("%.90s is of another build or precision", path);
    return status_ok();
}

status devices_plugin(const struct cuda_plugin **plugin)
{
    static const struct cuda_plugin *loaded;
    static status found;
    static bool tried;
    if (!tried) found = load(&loaded);
    tried = true;
    *plugin = found.code ? NULL : loaded;
    return found;
}

bool device_present(void)
{
    const struct cuda_plugin *plugin;
    (void)devices_plugin(&plugin);
    return plugin && !plugin->choose(0, 0).code;
}

bool device_is_emulated(const char *device)
{
    return device && !strncmp(device, "host", 4) && (!device[4] || device[4] == ':');
}

static status device_unknown(const char *device)
{
    char names[128] = "";
    const char *name;
    for (int at = 0; (name = emulator_device_name(at)); at++)
        snprintf(names + strlen(names), sizeof names - strlen(names), ", host:%s", name);
    return bad_input("option --device: found '%.40s', expected a number from 0, or host%s", device, names);
}

static status or_emulate(status s, const char *name)
{
    return bad_input("form %.10s: needs a CUDA device: %.154s; apply --device host emulates one", name, s.message);
}

status form_on(const struct form **form, const struct declaration *d, const char *name, const char *device,
               size_t allowed)
{
    const struct cuda_plugin *plugin;
    *form = NULL;
    const struct form *emulated = name && !operator_form(d, name) ? operator_version(d, name) : NULL;
    if (!emulated) {
        status s = form_named(form, d, name, cuda_forms);
        if (s.code || !device) return s;
        return bad_input("option --device: found '%.40s' beside --form %s, which runs on the processor; expected a "
                         "form cuda, cuda1, ...", device, name);
    }
    if (device_is_emulated(device)) {
        if (!emulator_device(device[4] ? device + 5 : NULL)) return device_unknown(device);
        *form = emulated;
        return status_ok();
    }
    if (device && (strspn(device, "0123456789") != strlen(device) || strlen(device) > 3))
        return device_unknown(device);
    status s = devices_plugin(&plugin);
    if (!plugin) return or_emulate(s, name);
    s = plugin->choose(device ? (int)strtol(device, NULL, 10) : 0, allowed);
    if (s.code) return or_emulate(s, name);
    *form = version_named(plugin->forms, d, name);
    return *form ? s : or_emulate(failure("the plug-in has no such version"), name);
}

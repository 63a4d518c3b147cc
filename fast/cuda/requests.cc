/* requests.cc -- group accesses of emulated threads into requests of warps; see requests.h */

#include "requests.h"
#include <algorithm>

namespace emulator {

namespace {

constexpr size_t SECTOR = 32, BANKS = 32;
constexpr size_t TABLE = 1024;              /* entries for lines of a kernel, at most half used */
constexpr size_t MANY_SECTORS = 1 << 16;

size_t hash(memory where, const place &p)
{
    return ((size_t)p.line * 37 + (uintptr_t)p.file / 8 + where * 511) % TABLE;
}

/* Cycles of the banks for sorted, distinct words: a bank serves one word per cycle, to all lanes that read it. */
size_t bank_cycles(const std::vector<uintptr_t> &words)
{
    size_t most = 0, count[BANKS] = {};
    for (uintptr_t w : words) most = std::max(most, ++count[w % BANKS]);
    return most;
}

void sort_distinct(std::vector<uintptr_t> &words)
{
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
}

} // namespace

void requests::begin_launch(struct launch_counts *into)
{
    now = into;
    touched.clear();
    sorted = 0;
    lines = 0;
    table.assign(TABLE, {nullptr, 0, DEVICE_MEMORY, 0});
    warps.clear();
}

void requests::begin_block(unsigned threads)
{
    warps.resize((threads + WARP - 1) / WARP);
    for (unsigned w = 0; w < warps.size(); w++) {
        unsigned lanes = std::min(threads - w * WARP, WARP);
        warps[w].live = warps[w].begun = lanes == WARP ? ~0u : (1u << lanes) - 1;
    }
}

/* Lines are numbered in the order of their first access. */
unsigned requests::number_of(memory where, const place &from)
{
    for (size_t at = hash(where, from);; at = (at + 1) % TABLE) {
        known &k = table[at];
        if (k.file == from.file && k.line == from.line && k.where == where) return (unsigned)k.number;
        if (k.file) continue;
        if (lines == TABLE / 2) fault(from, "more than %zu lines of a kernel: too many to count", TABLE / 2);
        k = {from.file, from.line, where, (int)lines};
        return lines++;
    }
}

void requests::add(unsigned number, unsigned lane, memory where, bool load, const void *address, size_t bytes,
                   const place &from)
{
    warp &w = warps[number];
    unsigned at = number_of(where, from);
    if (at >= w.lines.size()) w.lines.resize(at + 1);
    line &l = w.lines[at];
    unsigned index = l.came[lane]++ - l.first;
    if (index >= l.open.size()) l.open.push_back({0, where, (unsigned)bytes, load, false, {}});
    request &r = l.open[index];
    r.lanes |= 1u << lane;
    r.address[lane] = (uintptr_t)address;

    /* Count it when all live lanes have made it; ended lanes cannot. */
    if ((r.lanes & w.live) != w.live) return;
    count(w, r);
    r.counted = true;
    while (!l.open.empty() && l.open.front().counted) {
        l.open.pop_front();
        l.first++;
    }
}

void requests::ended(unsigned number, unsigned lane)
{
    warps[number].live &= ~(1u << lane);
}

/* Counts the open requests, which are partial. */
void requests::warp_met(unsigned number)
{
    warp &w = warps[number];
    for (line &l : w.lines) {
        for (const request &r : l.open)
            if (!r.counted) count(w, r);
        l.open.clear();
        l.first = 0;
        std::fill(l.came, l.came + WARP, 0);
    }
}

void requests::met()
{
    for (unsigned w = 0; w < warps.size(); w++) {
        warp_met(w);
        warps[w].begun = warps[w].live;
    }
}

void requests::end_launch()
{
    sort_touched();
    now->touched = touched.size() * SECTOR;
}

void requests::count(const warp &w, const request &r)
{
    if (r.lanes != w.begun) now->partial++;
    if (r.where == DEVICE_MEMORY) count_sectors(r);
    else count_wavefronts(r);
}

void requests::count_sectors(const request &r)
{
    uintptr_t sector[2 * WARP];
    size_t count = 0;
    for (unsigned l = 0; l < WARP; l++) {
        if (!(r.lanes >> l & 1)) continue;
        uintptr_t first = r.address[l] / SECTOR, last = (r.address[l] + r.bytes - 1) / SECTOR;
        now->asked += words(r.bytes) * WORD;
        if (count == 0 || sector[count - 1] != first) sector[count++] = first;
        if (last != first) sector[count++] = last;
    }
    std::sort(sector, sector + count);
    count = (size_t)(std::unique(sector, sector + count) - sector);
    now->requests++;
    now->sectors += count;
    touched.insert(touched.end(), sector, sector + count);
    if (touched.size() > std::max(MANY_SECTORS, 2 * sorted)) sort_touched();
}

void requests::sort_touched()
{
    sort_distinct(touched);
    sorted = touched.size();
}

/* A cycle returns one word to each lane, or two if all lanes n and n ^ 1, or all n and n ^ 2, share an address. */
size_t requests::return_cycles(const request &r)
{
    bool pairs[] = {true, true};
    for (unsigned l = 0; l < WARP; l++)
        for (unsigned by = 1; by <= 2; by++) {
            bool both = r.lanes >> l & r.lanes >> (l ^ by) & 1;
            if (both && r.address[l] != r.address[l ^ by]) pairs[by - 1] = false;
        }
    size_t each = words(r.bytes);
    return each > 1 && (pairs[0] || pairs[1]) ? each / 2 : each;
}

/* Accesses of 8 and 16 bytes are served by halves and quarters of the warp.  If lanes of a part conflict, the parts are
 * served one after another.  A load takes at least its return cycles. */
void requests::count_wavefronts(const request &r)
{
    std::vector<uintptr_t> all, part;
    unsigned lanes_of_part = r.bytes == 16 ? WARP / 4 : r.bytes == 8 ? WARP / 2 : WARP;
    size_t sequential = 0, returned = r.load ? return_cycles(r) : 0;
    bool conflict = false;
    for (unsigned l = 0; l < WARP; l++) {
        if (r.lanes >> l & 1)
            for (size_t b = 0; b < r.bytes; b += WORD) part.push_back((r.address[l] + b) / WORD);
        if ((l + 1) % lanes_of_part || part.empty()) continue;
        sort_distinct(part);
        size_t taken = bank_cycles(part);
        conflict |= taken > (part.size() + BANKS - 1) / BANKS;
        sequential += taken;
        all.insert(all.end(), part.begin(), part.end());
        part.clear();
    }
    sort_distinct(all);
    size_t cycles = conflict ? std::max(bank_cycles(all), sequential) : bank_cycles(all);
    now->shared_requests += std::max((all.size() + BANKS - 1) / BANKS, returned);
    now->wavefronts += std::max(cycles, returned);
}

} // namespace emulator

/* requests.h -- group accesses of emulated threads into requests of warps
 *
 * Emulated threads run one after another.  A request is the nth access of all lanes to one memory at one source line
 * since the warp's last synchronization (barrier, shuffle, vote or product).  It is counted (counts.h) when all live
 * lanes have made it, or as partial at the next synchronization.
 *
 * This equals the device's request if between synchronizations all lanes reach a line equally often, or end.  If a
 * lane skips iterations of a loop, its later accesses join earlier requests: there are fewer and fuller ones than on a
 * device.  Bytes asked and touched are always exact.
 *
 * Shared memory has 32 banks of 4 bytes and returns 128 bytes per cycle: a load of 8 bytes per lane takes at least two
 * cycles, one of 16 bytes four, one of 32 eight.  They take half if all active lanes n and n ^ 1 have the same address,
 * or all n and n ^ 2.  Source: an NVIDIA engineer, for 16 bytes and compute capability 7.0 to 7.5
 * (https://forums.developer.nvidia.com/t/unexpected-shared-memory-bank-conflict/77228); other sizes and later devices
 * are inferred.  Without a source for stores and atomics, only banks limit them.  This model was not compared with a
 * device. */

#pragma once
#include "counts.h"
#include "device.h"
#include <deque>
#include <vector>

namespace emulator {

constexpr unsigned WARP = 32;

class requests {
public:
    void begin_launch(struct launch_counts *into);
    void begin_block(unsigned threads);
    void add(unsigned warp, unsigned lane, memory where, bool load, const void *address, size_t bytes,
             const place &from);
    void ended(unsigned warp, unsigned lane);       /* the thread */
    void warp_met(unsigned warp);                   /* all its live lanes synchronized */
    void met();                                     /* a barrier, or the end of a block */
    void end_launch();

private:
    struct request {
        unsigned lanes;
        memory where;
        unsigned bytes;                             /* per lane */
        bool load, counted;
        uintptr_t address[WARP];
    };
    struct line {                                   /* accesses of one warp to one memory at one source line */
        unsigned first = 0;                         /* number of the first open request */
        unsigned came[WARP] = {};                   /* accesses of each lane */
        std::deque<request> open;
    };
    struct warp {
        unsigned live, begun;                       /* lanes that have not ended: now, and at the last block barrier */
        std::vector<line> lines;
    };
    struct known { const char *file; int line; memory where; int number; };

    unsigned number_of(memory where, const place &from);
    void count(const warp &w, const request &r);
    void count_sectors(const request &r);
    static size_t return_cycles(const request &r);
    void count_wavefronts(const request &r);
    void sort_touched();

    struct launch_counts *now = nullptr;
    std::vector<warp> warps;
    std::vector<known> table;                       /* hash table of lines */
    unsigned lines = 0;
    std::vector<uintptr_t> touched;                 /* sectors; the first `sorted` are sorted and distinct */
    size_t sorted = 0;
};

} // namespace emulator

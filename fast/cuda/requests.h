/* requests.h -- what the threads of a warp ask for together
 *
 * On a device the threads of a warp go in step.  Emulated threads go one after another, so
 * what each asks for is kept until all of its warp that live have come by; then the request
 * is counted (counts.h).  What is one request: what lanes ask of a memory at one line for the
 * nth time since all of the warp last met, at a barrier, a shuffle, a vote or a product.
 * Lanes that stay away leave it open until the next such meeting: it counts as partial.
 *
 * That is a device's request wherever the lanes that come by a line come equally often
 * between meetings, or stay away for good.  A lane that leaves out some turns of a loop in
 * which nobody meets is taken together with others a turn too early: there are fewer
 * requests, then, and fuller ones, than a device makes.  Bytes asked and touched are exact
 * in any case.
 *
 * Shared memory has 32 banks of 4 bytes, and returns 128 bytes a cycle: one register of a warp.
 * A load of 8 bytes a lane therefore takes at least two cycles, one of 16 bytes four.  Two
 * registers are packed into one if all active lanes n and n ^ 1 have the same address, or all
 * n and n ^ 2: one cycle and two.  One address for the whole warp is such a case.  This is the
 * statement of an NVIDIA engineer for 16 bytes and compute capability 7.0 to 7.5
 * (https://forums.developer.nvidia.com/t/unexpected-shared-memory-bank-conflict/77228); the
 * numbers for 8 bytes, and that later devices do the same, are inferred from it.  An access of
 * 32 bytes, four doubles, counts as two of 16.  No source was found for stores and atomics:
 * banks alone limit them, so that 32 stores of 16 bytes to distinct words also take four
 * cycles.  This model was not compared with a device.
 *
 * Knows no fiber and finds no mistake: that is the emulator's. */

#ifndef TWICETOLD_FAST_CUDA_REQUESTS_H
#define TWICETOLD_FAST_CUDA_REQUESTS_H

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
    void ended(unsigned warp, unsigned lane);       /* a thread */
    void warp_met(unsigned warp);                   /* all of it that live */
    void met();                                     /* a block, at a barrier or at its end */
    void end_launch();

private:
    struct request {
        unsigned lanes;
        memory where;
        unsigned bytes;                             /* of a lane */
        bool load, counted;
        uintptr_t address[WARP];
    };
    struct line {                                   /* of the source and one of the memories, for one warp */
        unsigned first = 0;                         /* how often all had come by before what is open */
        unsigned came[WARP] = {};                   /* how often each has */
        std::deque<request> open;
    };
    struct warp {
        unsigned live, begun;                       /* lanes that have not ended; had not when the block last met */
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
    std::vector<known> table;                       /* of lines, by what hash() says */
    unsigned lines = 0;
    std::vector<uintptr_t> touched;                 /* sectors, now and then sorted */
    size_t sorted = 0;                              /* how many there were when they were */
};

} // namespace emulator

#endif

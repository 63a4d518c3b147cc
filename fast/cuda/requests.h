/* requests.h -- requests of warps
 *
 * On a device the threads of a warp run in step.  Emulated threads run one after another, so accesses are kept until
 * all live threads of the warp have come; then the request is counted (counts.h).  One request is what lanes access in
 * one memory at one line for the nth time since the warp last met, at a barrier, a shuffle, a vote or a product.
 * Absent lanes leave it open until the next such meeting: it counts as partial.
 *
 * That is a device's request if lanes reach a line equally often between meetings, or stay away for good.  A lane that
 * skips some turns of a loop without meetings is grouped one turn too early: fewer and fuller requests than on a
 * device. Bytes asked and touched are always exact.
 *
 * Shared memory has 32 banks of 4 bytes, and returns 128 bytes a cycle.  A load of 8 bytes a lane therefore takes at
 * least two cycles, one of 16 bytes four.  They take half if all active lanes n and n ^ 1 have the same address, or all
 * n and n ^ 2.  Source: an NVIDIA engineer, for 16 bytes and compute capability 7.0 to 7.5
 * (https://forums.developer.nvidia.com/t/unexpected-shared-memory-bank-conflict/77228); 8 bytes and later devices are
 * inferred.  An access of 32 bytes counts as two of 16.  No source was found for stores and atomics: banks alone limit
 * them.  This model was not compared with a device. */

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
        unsigned vec;
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

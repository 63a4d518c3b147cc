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
    void add(unsigned warp, unsigned lane, memory where, const void *address, size_t bytes, const place &from);
    void ended(unsigned warp, unsigned lane);       /* a thread */
    void warp_met(unsigned warp);                   /* all of it that live */
    void met();                                     /* a block, at a barrier or at its end */
    void end_launch();

private:
    struct request {
        unsigned lanes;
        memory where;
        unsigned bytes;
        bool counted;
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
    void count_turns(const request &r);
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

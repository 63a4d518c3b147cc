/* requests.h -- what the threads of a warp ask for together
 *
 * On a device the threads of a warp go in step: what they ask of a memory at one line for
 * the nth time is one request.  Emulated threads go one after another, so what each asks for is kept
 * until all of its warp that live have come by; then the request is counted (counts.h).
 * Lanes that stay away leave it open until the block meets: it counts as partial.
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

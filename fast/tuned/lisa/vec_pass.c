/* vec_pass.c -- runs all stages of a transform; see vec_pass.h */

#include "vec_pass.h"

void lane_line(const struct lane_stage *stage, void *source, void *sink)
{
    lane_stage_through(stage, line_load, source, line_store, sink);
}

void vec_pass(const struct vec_fft *fft, lane_part *enter, void *source, lane_part *leave, void *sink, real *line)
{
    const struct lane_stage *stage = fft->stage, *last = stage + fft->stages - 1;
    enter(stage, source, line);
    while (++stage < last) lane_line(stage, line, line);
    leave(last, line, sink);
}

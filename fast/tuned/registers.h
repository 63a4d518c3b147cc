/* registers.h -- how many vectors the processor has registers for
 *
 * Apart from lanes.h, for proofs put other vectors in the place of those. */

#ifndef TWICETOLD_REGISTERS_H
#define TWICETOLD_REGISTERS_H

#ifndef LANE_REGISTERS          /* make cross MACHINE=wide says 32 where there are fewer */
#if defined __AVX512F__ || defined __aarch64__
#define LANE_REGISTERS 32
#else
#define LANE_REGISTERS 16
#endif
#endif

#endif

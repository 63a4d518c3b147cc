/* networks.c -- the list of networks; see network.h */

#include <stdio.h>
#include <string.h>
#include "network.h"

extern const struct network_table litv2_s, litv2_m, litv2_b, elsa_swin_t, elsa_swin_s, elsa_swin_b, swin_t,
    lisanet_i_t, lisanet_i_t_d1, lisanet_i_t_d4, lisanet_i_t_d8, lisanet_h_t, lisanet_h_s, lisanet_h_b,
    structvit_s_4_2, structvit_s_4_1, structvit_s_8_1, structvit_b_4_2, structvit_b_4_1, structvit_b_8_1,
    structvit_l_4_1, structvit_s_4_2_video, structvit_s_4_1_video, structvit_s_8_1_video,
    structvit_b_4_2_video, structvit_b_4_1_video, chopd_former_15, chopd_former_28, chopd_former_fc_15,
    chopd_former_fc_28, chopd_former_depthwise_15, chopd_former_depthwise_28, chopd_former_pool_15,
    chopd_former_pool_28, chopd_former_linear_15, chopd_former_linear_28,
    learned_lisa, learned_structsa, learned_elsa, learned_chopd, learned_hilo;

static const struct network_table *const tables[] = {
    &lisanet_i_t, &lisanet_i_t_d1, &lisanet_i_t_d4, &lisanet_i_t_d8, &lisanet_h_t, &lisanet_h_s, &lisanet_h_b,
    &structvit_s_4_2, &structvit_s_4_1, &structvit_s_8_1, &structvit_b_4_2, &structvit_b_4_1, &structvit_b_8_1,
    &structvit_l_4_1, &structvit_s_4_2_video, &structvit_s_4_1_video, &structvit_s_8_1_video,
    &structvit_b_4_2_video, &structvit_b_4_1_video,
    &elsa_swin_t, &elsa_swin_s, &elsa_swin_b, &swin_t,
    &chopd_former_15, &chopd_former_28, &chopd_former_fc_15, &chopd_former_fc_28, &chopd_former_depthwise_15,
    &chopd_former_depthwise_28, &chopd_former_pool_15, &chopd_former_pool_28, &chopd_former_linear_15,
    &chopd_former_linear_28,
    &litv2_s, &litv2_m, &litv2_b,
    &learned_lisa, &learned_structsa, &learned_elsa, &learned_chopd, &learned_hilo,
};

const struct network_table *network_at(int at)
{
    return at < 0 || at >= (int)(sizeof tables / sizeof *tables) ? NULL : tables[at];
}

const struct network_table *network_find(const char *name)
{
    const struct network_table *t;
    for (int n = 0; (t = network_at(n)); n++)
        if (!strcmp(t->name, name)) return t;
    return NULL;
}

status network_named(const struct network_table **table, const char *name)
{
    *table = name ? network_find(name) : NULL;
    if (*table) return status_ok();
    return name ? bad_input("network %.40s: not known, expected one that 'twicetold list' names", name)
                : bad_input("found no network, expected one that 'twicetold list' names");
}

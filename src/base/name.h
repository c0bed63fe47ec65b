/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * name: the limits of names that people give to sites and tunnels.
 *
 * A name is 1 to CW_NAME_MAX characters of a-z A-Z 0-9 . _ - and begins with a letter or digit. It
 * is the key of everything a tunnel owns (design: keyed by the tunnel's name, never by an SA id).
 */
#ifndef CW_BASE_NAME_H
#define CW_BASE_NAME_H

#define CW_NAME_MAX 48		     /* of a site, in characters */
#define CW_TUNNEL_NAME_MAX 56	     /* site name, "-", number */
#define CW_IFNAME_SIZE 16	     /* IFNAMSIZ, with the closing zero */

#endif

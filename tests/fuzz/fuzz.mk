# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the fuzz targets in the current folder: make -f TOP/tests/fuzz/fuzz.mk TOP=TOP
# Apart from automake, which builds with one compiler and one set of flags: this
# needs clang and libFuzzer.

CLANG ?= clang
VPATH := $(TOP)
targets := bgp_attr bgp_msg bgp_session bgp_update conf ctl log rib show tunnel xfrm

CFLAGS := -std=gnu17 -D_GNU_SOURCE -DCW_VERSION='"fuzz"' -I$(TOP)/src -I$(TOP)/tests -I$(TOP)/tests/fuzz \
	-O1 -g -fno-omit-frame-pointer -Wall -Wextra -Werror \
	-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined \
	$(shell pkg-config --cflags libmnl libconfig jansson libcrypto)
LIBS := $(shell pkg-config --libs libmnl libconfig jansson libcrypto) -lpthread

# What parses and decides; no socket, no loop.
tested := $(wildcard $(TOP)/src/base/*.c $(TOP)/src/wire/*.c $(TOP)/src/bgp/*.c $(TOP)/src/conf/*.c $(TOP)/src/tunnel/*.c \
	$(TOP)/src/nl/*_msg.c $(TOP)/src/nl/xfrm_*.c $(TOP)/src/nl/nl_buf.c \
	$(TOP)/src/ctl/ctl_bgp.c $(TOP)/src/ctl/ctl_request.c $(TOP)/src/ctl/ctl_show.c \
	$(TOP)/src/cli/show_*.c $(TOP)/src/cli/text.c $(TOP)/tests/unit/rib_story.c)
objects := $(sort $(patsubst $(TOP)/%.c,%.o,$(tested)))

all: $(addprefix fuzz_,$(targets))

libfuzzed.a: $(objects)
	rm -f $@
	ar rcs $@ $^

fuzz_%: tests/fuzz/fuzz_%.o libfuzzed.a
	$(CLANG) -fsanitize=fuzzer,address,undefined -o $@ $^ $(LIBS)

%.o: %.c tests/fuzz/fuzz.mk
	@mkdir -p $(@D)
	$(CLANG) $(CFLAGS) -MMD -MP -c -o $@ $<

.PHONY: all
.SECONDARY:
-include $(objects:.o=.d) $(patsubst %,tests/fuzz/fuzz_%.d,$(targets))

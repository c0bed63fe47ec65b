# SPDX-License-Identifier: GPL-2.0-or-later

noinst_LIBRARIES += libcw_wire.a
libcw_wire_a_SOURCES = \
	src/wire/bgp.c \
	src/wire/bgp.h \
	src/wire/bgp_attr.c \
	src/wire/bgp_attr.h \
	src/wire/bgp_attr_edit.c \
	src/wire/bgp_caps.c \
	src/wire/bgp_caps.h \
	src/wire/bgp_encode.c \
	src/wire/bgp_msg.c \
	src/wire/bgp_msg.h \
	src/wire/bgp_path.c \
	src/wire/bgp_priv.h \
	src/wire/bgp_update.c \
	src/wire/bgp_update.h \
	src/wire/mrt.c \
	src/wire/mrt.h

cw_wire_tests = \
	tests/unit/test_bgp_attr \
	tests/unit/test_bgp_encode \
	tests/unit/test_bgp_msg \
	tests/unit/test_bgp_update \
	tests/unit/test_mrt
check_PROGRAMS += $(cw_wire_tests)
TESTS += $(cw_wire_tests)

cw_wire_test_cppflags = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
cw_wire_test_libs = libcw_wire.a libcw_base.a $(CMOCKA_LIBS)
cw_wire_test_common = tests/unit/bgp_bytes.c tests/unit/bgp_bytes.h

tests_unit_test_bgp_attr_SOURCES = tests/unit/test_bgp_attr.c $(cw_wire_test_common)
tests_unit_test_bgp_attr_CPPFLAGS = $(cw_wire_test_cppflags)
tests_unit_test_bgp_attr_LDADD = $(cw_wire_test_libs)

tests_unit_test_bgp_encode_SOURCES = tests/unit/test_bgp_encode.c $(cw_wire_test_common)
tests_unit_test_bgp_encode_CPPFLAGS = $(cw_wire_test_cppflags)
tests_unit_test_bgp_encode_LDADD = $(cw_wire_test_libs)

tests_unit_test_bgp_msg_SOURCES = tests/unit/test_bgp_msg.c $(cw_wire_test_common)
tests_unit_test_bgp_msg_CPPFLAGS = $(cw_wire_test_cppflags)
tests_unit_test_bgp_msg_LDADD = $(cw_wire_test_libs)

tests_unit_test_bgp_update_SOURCES = tests/unit/test_bgp_update.c $(cw_wire_test_common)
tests_unit_test_bgp_update_CPPFLAGS = $(cw_wire_test_cppflags)
tests_unit_test_bgp_update_LDADD = $(cw_wire_test_libs)

tests_unit_test_mrt_SOURCES = tests/unit/test_mrt.c $(cw_wire_test_common)
tests_unit_test_mrt_CPPFLAGS = $(cw_wire_test_cppflags)
tests_unit_test_mrt_LDADD = $(cw_wire_test_libs)

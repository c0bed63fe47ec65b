# SPDX-License-Identifier: GPL-2.0-or-later

# autoconf leaves ${prefix} in directory names, so make fills them in.
systemdsystemunit_DATA = conf/causeway.service
CLEANFILES += conf/causeway.service
EXTRA_DIST += conf/causeway.service.in

conf/causeway.service: $(top_srcdir)/conf/causeway.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) conf && \
	sed -e 's|@sbindir[@]|$(sbindir)|g' -e 's|@sysconfdir[@]|$(sysconfdir)|g' \
		$(top_srcdir)/conf/causeway.service.in >$@.tmp && mv $@.tmp $@

#!/bin/sh
# real.sh PROGRAM [COUNT] - translates COUNT documents (500 by default) of real text with a student of Firefox, with
# PROGRAM, which real.c is: sentences in RAPT_DATA, and pages of Debian's libreoffice-help-en-us, which is downloaded.
. "$(dirname "$0")/../apps/kit/script.sh"
package=libreoffice-help-en-us
student=${RAPT_DATA:-missing}/models/firefox-tiny-enpt

skip() {
    echo "skipped: full/documents: $1"
    exit 77
}
[ -r "$student/expected.en" ] || skip "RAPT_DATA is not a folder with models"
for tool in apt-get dpkg-deb; do
    command -v $tool >/dev/null || skip "no $tool, which fetches $package"
done
apt-get download $package >log 2>&1 || skip "$package cannot be downloaded: $(tail -1 log)"
dpkg-deb -x $package*.deb pages
check "real documents" "$program" "${2:-500}" "$student" pages
[ $failures -eq 0 ]

# Turns a file into C: cmake -D IN=grammar.txt -D OUT=corpus_bytes.c -P embed.cmake
# A list of bytes rather than a string literal, whose portable length is limited.
file(READ "${IN}" bytes HEX)
string(LENGTH "${bytes}" digits)
math(EXPR count "${digits} / 2")
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE "${OUT}" "#include \"corpus/corpus.h\"\n\nconst unsigned char corpus_bytes[] = {\n${bytes}\n};\n"
                    "const size_t corpus_bytes_count = ${count};\n")

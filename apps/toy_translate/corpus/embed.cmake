# embed.cmake - turns a file into C: cmake -D IN=grammar.txt -D OUT=corpus_bytes.c -P embed.cmake
# Writes a list of bytes, since the length of a string literal is limited.
file(READ "${IN}" bytes HEX)
string(LENGTH "${bytes}" digits)
math(EXPR count "${digits} / 2")
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE "${OUT}" "#include \"corpus/corpus.h\"\n\nconst unsigned char corpus_bytes[] = {\n${bytes}\n};\n"
                    "const size_t corpus_bytes_count = ${count};\n")

# safety: I2: RemoveMember of NAME, while NAME is stopped by the operator
kind corruption
seed 7000874
61.0 looks-back 4
62.0 fault loseMember demo-0
62.0 dies-after 1
62.0 looks-back 3
64.0 looks-back 2
65.0 looks-back 3
67.0 looks-back 5
68.0 looks-back 5
69.0 dies-after 3
69.0 looks-back 0
70.0 looks-back 3
71.0 fault StripSeal demo-3
71.0 looks-back 2
72.0 fault Recreate demo-4
76.0 looks-back 2
78.0 looks-back 1
79.0 dies-after 0
79.0 looks-back 5
89.0 looks-back 1
90.0 looks-back 0
91.0 fault changeSpec demo-1
91.0 looks-back 2
92.0 looks-back 2
93.0 looks-back 1
94.0 dies-after 3
94.0 looks-back 5
95.0 looks-back 4
96.0 dies-after 0
99.0 looks-back 1
101.0 dies-after 3
101.0 looks-back 3
102.0 looks-back 0
103.0 dies-after 3
103.0 looks-back 3
104.0 dies-after 1
104.0 looks-back 3
106.0 looks-back 0
107.0 fault KillAnother demo-2
108.0 looks-back 4
109.0 looks-back 1
112.0 dies-after 3
112.0 looks-back 5
113.0 looks-back 3
114.0 looks-back 0
115.0 looks-back 1
116.0 fault KillAnother demo-4
122.0 looks-back 1
123.0 looks-back 5
124.0 looks-back 0
125.0 looks-back 5
129.0 looks-back 3
131.0 dies-after 2
131.0 looks-back 1
132.0 looks-back 0
133.0 looks-back 1
134.0 dies-after 1
134.0 looks-back 1
135.0 looks-back 4
136.0 looks-back 2
137.0 dies-after 1
137.0 looks-back 4
138.0 dies-after 0
138.0 looks-back 1
139.0 looks-back 4
140.0 looks-back 1
141.0 looks-back 0
142.0 fault LoseObject demo-2
142.0 looks-back 3
144.0 looks-back 5
146.0 looks-back 2
147.0 dies-after 1
147.0 looks-back 3
148.0 looks-back 1
149.0 looks-back 2
150.0 looks-back 4
151.0 fault CorruptDisk demo-1
151.0 dies-after 2
151.0 looks-back 4
152.0 looks-back 4
154.0 looks-back 4
155.0 looks-back 5
156.0 fault AgePod demo-3
157.0 looks-back 0
159.0 looks-back 5
160.0 looks-back 2
161.0 looks-back 0
162.0 looks-back 2
164.0 dies-after 1
164.0 looks-back 2
165.0 dies-after 1
165.0 looks-back 3
166.0 dies-after 3
166.0 looks-back 2
167.0 dies-after 3
167.0 looks-back 2

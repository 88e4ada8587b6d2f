"""Word lists for people: given names of many languages, and the words that are more than a name."""

_GIVEN = """
aaron abby abdullah abena abigail adaeze adam adele adnan adrian adriana agata agnes ahmed aidan aiko ainhoa
aino aisha aitor akira alan albert alberto alejandra alejandro aleksandr alessandro alex alexander alexandra
alexei alexey alexis alfonso alfred ali alice alicia alina alison allan allison alma alvaro amanda amani amara
amelia amina amir amit amy ana anastasia anders andre andrea andreas andrei andreia andres andrew andrey
andrzej andré andrés angela angelica anika anil anita anja anjali ankit anna anne annette annika anthony
antoine anton antonia antonio antónio anya aoife arjun armando arne arnold arthur arturo arun asha ashley
ashok astrid attila aurelie aurélie axel ayesha ayse aziz balazs barbara barry bartosz beata beatrice
beatriz becky begoña ben benedict benjamin benny benoit benoît bernard bernardo bernd bernhard beth bethany
bianca billy bjarne bjorn björn bob bogdan bohdan boris brad brandon brenda brendan brent brian bridget
brigitte bruno bryan burak caio caitlin callum camila camille carl carla carlos carmen carol carole caroline
catarina caterina catherine cathy cecil cecilia cedric celine cem cesar charles charlie chen cherie chiamaka
chiara chidi chloe chloé chris christian christina christine christoph christopher chukwu cindy claire clara
clarissa claudia claudio clemens cláudia colin connor conrad constance corinne craig cristian cristina cynthia
cécile cédric célia céline césar daan dagmar daisuke damien dan dana daniel daniela danielle danny daphne
darius dariusz darren dave davi david davide dawid debbie deborah deepa deepak denis deniz dennis derek detlef
diana diane didier dieter dietmar dimitri dina dirk divya dmitri dmitry dominic dominik dominique donald donna
dora doris dorothea dorothy douglas dragan duncan dustin dylan eberhard edgar eduardo edward edwin eero eileen
einar eirik elaine eleanor elena elias elif elisa elisabeth elise elizabeth ella ellen elliot elliott elodie
elsa emil emilia emilio emily emine emma emmanuel emrah emre enrico enrique eric erica erik erika erin ernesto
ernst esra esteban esther eszter ethan eugene eva evan evelyn ewa ezgi fabian fabio fabrice farhad farid
fatima fatma federico felicia felipe felícia ferenc fernanda fernando filip fiona florian flávia frances
francesca francesco francisco francois franziska françois françoise fred frederic frederick freja friedrich
fritz frédéric fábio gabor gabriel gabriela gabriele gareth gary gaurav gavin genevieve geneviève geoffrey
georg george georgina gerald gerard gerhard gianluca gilles gina giovanni gisela giulia giuseppe gloria
gonzalo gonçalo goran gordon greg gregor gregory greta grzegorz guillaume guillermo gunnar gunther gustav
gustavo görkem günter günther haakon hakan hamza hana hannah hannes hans harald harish harold harriet harry
haruki haruto hasan hassan hatice heather hector heidi heike heinrich heinz helen helena helene helga helmut
hendrik henri henrik henry herbert hermann hernán hilda hina hiroshi holger horst howard hubert hussein hyejin
hélène ian ibrahim ignacio igor ilaria ilya imran ines inga ingeborg ingrid inés irene irina irène isaac
isabel isabella ismail istvan itziar ivan ivana ivica iwona iñaki iñigo jacek jacob jacqueline jacques jadwiga
jaime jakob jakub james jamie jane janet janez janina jaroslaw javier jeff jeffrey jelena jennifer jenny jens
jeremy jerome jerry jesper jessica jesus jesús jihoon jill jim jimmy jin joachim joan joana joanna joao
joaquim joaquín joasia jochen joe joel joelle johan johanna johannes john johnny jonas jonathan jordi jorge
jose josef josefina joseline joseph josephine josh joshua josé joão juan juana judith julian juliana julie
julien juliette julio junaid jurgen jussara jussi justin justine jérôme jörg júlia júlio jürgen kai kaisa
kamal kamil karen karim karin karl karolina katalin katarina katarzyna kate katharina katherine kathleen
kathrin kathy katie katja katrin kavita kazuki keiko keith kelly kemal kenji kenneth kent kenta kerstin kevin
khalid kieran kim kiran kirsten kjell klaus knut kofi konrad konstantin kristen kristian kristin kristina
krzysztof kurt kwame kyle käthe lakshmi lara larry lars lasse laszlo laura lauren laurence laurent laurie
leandro leif leila lena lennart leon leonard leonardo leonie leopold leslie leticia letícia leyla liam lidia
lilian liliana linda lindiwe lindsay lisa liz lorena lorenzo lothar louis louisa louise lourdes luana luc luca
lucas lucia luciana luciano lucie lucy lucía ludwig luigi luis luisa luiz lukas lukasz luke luís lydia léa
léon lúcia maciej maddie madeleine magda magdalena magnus maja makoto malcolm malgorzata malgosia malik
manfred manish manoj manuel manuela marc marcel marcela marcelo marcin marco marcos marcus marek margaret
margarita margot maria mariana marianne marie mariko mario marion marisa marius mariusz marko markus marlene
marta martha martin martina martín mary maría masashi masato matej mateo mateusz mathieu mathilde matias matt
matteo matthew matthias matthieu maureen maurice mauricio maxim maxime maïté meg megan mehdi mehmet mei
melanie melissa mercedes mercè meredith mette mia michael michaela michal michalina michel michele michelle
miguel mikael mike mikhail mikko milena milica millicent milos minh minjun mireille mirela miriam mohamed
mohammad mohammed moira moises molly monica monika monique montse moritz mukesh murat mustafa mykola márcia
mário mélanie mónica møller nadia nadine nadja naledi nancy nandor naomi natalia natalie natasha nathalia
nathalie nathan nathaniel naveen navid neha neil nelson nenad nerea ngoc ngozi niamh nicholas nick nicola
nicolas nicole nicolás niels nigel nikhil nikita niklas nikolai nikolaus nils nina nisha nkechi noah noel nora
norbert noriko norma nour noémie núria oisin oksana ola olaf oleg olena olga oliver olivia olivier oluwaseun
omar omari orsolya oscar oskar ostap otto ozan pablo paivi pamela pankaj paola paolo parisa patricia patricio
patrick patrik paul paula paulina pauline paulo pavel pawel pedro pekka penelope pete peter petra phil philip
philipp philippe phillip phuong phyllis pierre pieter piotr piotrek pooja pradeep prakash pranav preeti
priscilla priya przemyslaw quang rachel radek rafael rafal rahul raimund rainer raj rajesh rakesh ralf ralph
ramesh ramon rana raphael raquel rashid rasmus raul ravi raúl rebecca reinhard reinhold rekha renan renata
renate rene rené reza rhys ricardo richard rishi rita ritu robert roberta roberto rocío rodrigo roger rohan
rohit roland rolf romain roman ronald rosa rosalind rosanna roxana rubén rudolf ruth ryan ryo sachin saeed
sakura sally salma salvador sam samantha sameer samir samuel sandeep sandra sanjana sanjay sanna saoirse sara
sarah sasha satoshi scott sean sebastian sebastien selim selma seojun serena sergei sergey sergio sevgi shane
shannon sharon shaun sheila shilpa shinji shirin shirley shivani shreya sibylle siegfried sigrid sigurd silke
silvia simon simona simone sina siobhan sipho slawomir slobodan sneha sofie sofía solveig sonia sonja soojin
sophia sophie soraya soren spencer srinivas stacey stanislav stefan stefania stefano steffen stephan stephanie
stephen steve steven stewart stuart stéphane stéphanie sudhir sumit sunil sunita suresh susan susana susanna
susanne suzanne sven svenja svetlana swati sylvia sylvie szymon sébastien sérgio sónia søren tadej tadeusz
takashi takeshi tamara tamas tammy tamsin tania tanja tara taras tariq tatiana tatjana tatyana taís ted teresa
terry tess thabo thandiwe thaís theodor theodore theresa therese thiago thierry thilo thomas thorbjorn
thorsten tiago tilman tim timo timothy tina tobias toby todd tolga tom tomas tomasz tommy tomoko tomás tony
torbjorn torsten tracy trevor tricia tristan trond troy tuan tunde tuomas tyler ulrich ulrike umut urs ursula
ute uwe vadim valentin valentina valerie vanessa varun venkat vera veronica veronika verónica vesna vicente
victor vidar vijay vikram vincent vincenzo vinod vinícius virginie vishal vivek vivian viviana vladimir volker
vítor waldemar walter wanda wanjiru warren wayne wei wendy werner weronika wes wiktor wilhelm willem william
winfried wladimir wojciech wolfgang xavier yael yan yang yannick yara yasmin yasmine yetunde yevhen yildiz
yoko yuki yumi yuri yusuf yves yvette yvonne zach zachary zainab zara zeynep zhang zoe zofia zoltan zoran zoé
zsofia álvaro ángel élise élodie éléonore émile émilie éric étienne óscar ülkü
александр александра алексей алина алла алёна анастасия андрей анна антон аркадий артем артём борис вадим
валентин валентина валерий василий вероника виктор виктория виталий владимир владислав вячеслав галина
геннадий георгий григорий даниил дарья денис дмитрий евгений евгения екатерина елена елизавета злата иван
игорь илья инна ирина кирилл константин ксения лариса леонид лидия людмила максим маргарита марина мария
михаил наталья никита николай оксана олег ольга павел петр полина пётр руслан рустам светлана семён сергей
софья станислав степан тамара татьяна тимур фёдор юлия юрий яна ярослав
"""
GIVEN_NAMES = frozenset(_GIVEN.split())
"""Given names, in lower case, that with a capital are hardly anything else."""

_AMBIGUOUS = """
ada ama amber april art august austin autumn ava basil bella bill blake brook carolina carter casey cash chad
charlotte chase chip clark clay cliff cody cole cooper crystal dale dallas dash dawn dean denver dick diego
don dot drew dusty earl eden ernie eve faith felix finn flora florence florida forest frank gene georgia
ginger glen grace grant gray gul guy hank harper heath holly hope hugo hunter iris isabelle ivy jack jackson
jade jan jasmine jason jasper jay jean jewel jo jordan joy judy julia juma june ken kit kris lance lane lea
lee leo lester levi lily lin logan lola luna lynn madison marina marshall mason max may milan miles min mitch
morgan nam nash nat ned nell noa norman nova ole olive opal paige parker pascal pat patty pearl peggy penny
perry phoenix pierce piper quinn rae randy ray reed rick river rob robin rocky ron rose ross roy ruby
rusty sage sandy savannah shelly sid sierra sky sofi sofia stan star stella sterling sue summer taylor terra
vic victoria ville viola violet virginia wade ward will willow wren wyatt yash zane zuri
вера любовь надежда роман
"""
AMBIGUOUS_GIVEN_NAMES = frozenset(_AMBIGUOUS.split())
"""Given names, in lower case, that are words, places or products too: they need a cue beside them."""
